/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing in steps, for several threads.
 *
 *	admit	descriptors, in order
 *	pack	a segment: any number of threads at once, also during an admit
 *	log	admitted descriptors, in order
 *	put	packed segments, in order and after their descriptors were logged
 *
 * dep_writer_descriptors() is admit and log, dep_writer_segment() is pack and put.  One thread at a
 * time may admit.  One thread at a time may log, put, and make all other calls of the writer.
 * A segment is packed with the descriptors that precede it in the order, so the store's bytes do
 * not depend on which thread packs it when.
 */
#ifndef ADEPT_FORMAT_WRITE_PACK_H
#define ADEPT_FORMAT_WRITE_PACK_H

#include "store_writer.h"
#include "libdep/format/file/wire.h"

/** struct dep_compressor - buffers and contexts for packing; each thread has its own */
struct dep_compressor;
/** struct dep_packed - a packed segment that is not in the file yet */
struct dep_packed;

/** dep_compressor_new() - make one, for use with any number of writers; NULL without memory */
struct dep_compressor *dep_compressor_new(void);
void dep_compressor_free(struct dep_compressor *p);

/**
 * dep_writer_admit() - check descriptors and make their fragments known
 * @data: whole descriptors; must not change until they are logged
 * @good: receives the number of bytes of valid descriptors, which must be logged
 *
 * Return: 0, -EBADMSG for the first invalid one, or another error.
 */
int dep_writer_admit(struct dep_writer *w, const void *data, size_t size, size_t *good);
/** dep_writer_known() - number of admitted fragments */
uint32_t dep_writer_known(const struct dep_writer *w);
/** dep_writer_log() - append admitted descriptors, at most DEP_FRAME_MAX bytes */
int dep_writer_log(struct dep_writer *w, uint32_t process, const void *data, size_t size);

/** dep_writer_scan_known() - dep_writer_scan() with only the first @known fragments */
uint32_t dep_writer_scan_known(const struct dep_writer *w, uint32_t known, const void *body,
			       uint32_t size);
/**
 * dep_writer_pack() - make a segment of a chunk (see dep_writer_segment())
 * @known: dep_writer_known() at the segment's position in the order
 */
int dep_writer_pack(const struct dep_writer *w, struct dep_compressor *p, uint32_t known,
		    uint32_t thread, const struct adept_chunk *chunk, const void *body,
		    struct dep_packed **out);
/** dep_writer_put() - append a packed segment, and free it in any case */
int dep_writer_put(struct dep_writer *w, struct dep_packed *pk);
void dep_packed_free(struct dep_packed *pk);

#endif
