/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing in steps, for several threads.
 *
 *	admit	descriptors, in their order
 *	pack	a segment: any number of threads at once, even beside an admit
 *	log	admitted descriptors, in their order
 *	put	packed segments, in their order and after the log of their descriptors
 *
 * dep_writer_descriptors() is admit and log, dep_writer_segment() pack and put.  One
 * thread at a time may do the first, and one the last two with all other calls of
 * the writer.  A segment is packed with what was known when it was its turn, so the
 * store's bytes do not depend on who packs when.
 */
#ifndef ADEPT_FORMAT_WRITE_PACK_H
#define ADEPT_FORMAT_WRITE_PACK_H

#include "dep/store.h"
#include "libdep/format/file/wire.h"

/** struct dep_compressor - what packing needs besides the writer; one per thread */
struct dep_compressor;
/** struct dep_packed - a segment on its way to the file */
struct dep_packed;

/** dep_compressor_new() - for any number of writers; NULL without memory */
struct dep_compressor *dep_compressor_new(void);
void dep_compressor_free(struct dep_compressor *p);

/**
 * dep_writer_admit() - check descriptors and make their fragments known
 * @data: whole descriptors; must stay as it is until they are logged
 * @good: receives how many bytes of them are good, to be logged
 *
 * Return: 0, -EBADMSG for the first bad one, or another error.
 */
int dep_writer_admit(struct dep_writer *w, const void *data, size_t size, size_t *good);
/** dep_writer_known() - how many fragments have been admitted */
uint32_t dep_writer_known(const struct dep_writer *w);
/** dep_writer_log() - append what was admitted, DEP_FRAME_MAX bytes at most */
int dep_writer_log(struct dep_writer *w, uint32_t process, const void *data, size_t size);

/** dep_writer_scan_known() - dep_writer_scan() with the first @known fragments only */
uint32_t dep_writer_scan_known(const struct dep_writer *w, uint32_t known, const void *body,
			       uint32_t size);
/**
 * dep_writer_pack() - make a segment of a chunk (see dep_writer_segment())
 * @known: dep_writer_known() at its place in the order
 */
int dep_writer_pack(const struct dep_writer *w, struct dep_compressor *p, uint32_t known,
		    uint32_t thread, const struct adept_chunk *chunk, const void *body,
		    struct dep_packed **out);
/** dep_writer_put() - append it; it is freed in any case */
int dep_writer_put(struct dep_writer *w, struct dep_packed *pk);
void dep_packed_free(struct dep_packed *pk);

#endif
