/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a store in steps, which several threads may share:
 *
 *	admit	check descriptors, in order
 *	pack	make a segment from a chunk: any number of threads at once, also during an admit
 *	log	write admitted descriptors, in order
 *	put	write packed segments, in order and after their descriptors were logged
 *
 * dep_writer_descriptors() does admit and log, dep_writer_segment() pack and put.  One thread at a
 * time may admit.  One thread at a time may log, put, and make all other calls of the writer.
 * A segment is packed with exactly the descriptors that precede it in the store, so the bytes of
 * the store do not depend on the thread and time of packing.
 */
#ifndef ADEPT_FORMAT_WRITE_PACK_H
#define ADEPT_FORMAT_WRITE_PACK_H

#include <stdbool.h>

#include "store_writer.h"
#include "libdep/format/file/wire.h"

/** struct dep_compressor - buffers and contexts for packing; each thread has its own */
struct dep_compressor;
/** struct dep_packed - a packed segment that is not in the file yet */
struct dep_packed;

/** dep_compressor_new() - allocate buffers and contexts, for any writers; NULL without memory */
struct dep_compressor *dep_compressor_new(void);
void dep_compressor_free(struct dep_compressor *p);

/**
 * dep_writer_admit() - check descriptors and make their fragments known
 * @data: whole descriptors; must not change until they are logged
 * @good: receives the number of bytes of valid descriptors, which must be logged
 *
 * Return: 0, -EBADMSG if a descriptor is invalid, or another negative errno.
 */
int dep_writer_admit(struct dep_writer *w, const void *data, size_t size, size_t *good);
/** struct dep_forgotten - fragments that no segment will name any more */
struct dep_forgotten {
	struct dep_forgotten *next;
	size_t n;
	struct {
		uint32_t first_exit, nexits;
	} frag[];
};

/**
 * dep_writer_forget() - let the next admission take fragments out of the index
 * @f: allocated by malloc(); the writer frees it
 *
 * Any thread may call it, and the next three functions, while another one admits.
 */
void dep_writer_forget(struct dep_writer *w, struct dep_forgotten *f);
/** dep_writer_frag() - number of the fragment with this first exit; false: it is not known */
bool dep_writer_frag(const struct dep_writer *w, uint32_t first_exit, uint32_t *frag);
/** dep_writer_named() - dep_split_frags() with the writer's index; */
void dep_writer_named(const struct dep_writer *w, const void *body, uint32_t size, uint32_t from,
		      uint32_t n, uint8_t *bits);
/** dep_writer_index_bytes() - memory of the index */
uint64_t dep_writer_index_bytes(const struct dep_writer *w);
/**
 * dep_writer_reclaim() - free what earlier admissions have taken out of the index
 *
 * No thread may be using the index that was doing so at the last admission.
 */
void dep_writer_reclaim(struct dep_writer *w);

/** dep_writer_known() - number of fragments admitted (checked and indexed) so far */
uint32_t dep_writer_known(const struct dep_writer *w);
/** dep_writer_log() - append admitted descriptors, at most DEP_FRAME_MAX bytes */
int dep_writer_log(struct dep_writer *w, uint32_t process, const void *data, size_t size);

/** dep_writer_scan_known() - dep_writer_scan() with only the first @known fragments */
uint32_t dep_writer_scan_known(const struct dep_writer *w, uint32_t known, const void *body,
			       uint32_t size);
/**
 * dep_writer_pack() - make a segment of a chunk (see dep_writer_segment())
 * @known: number of fragments admitted before the chunk, from dep_writer_known()
 */
int dep_writer_pack(const struct dep_writer *w, struct dep_compressor *p, uint32_t known,
		    uint32_t thread, const struct adept_chunk *chunk, const void *body,
		    struct dep_packed **out);
/** dep_writer_put() - append packed segment @pk to the store; frees @pk, also on failure */
int dep_writer_put(struct dep_writer *w, struct dep_packed *pk);
void dep_packed_free(struct dep_packed *pk);

#endif
