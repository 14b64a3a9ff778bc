/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A chunk in the memory of the collector or in a file (window_files.h), shared by a window
 * (window.h) and the snapshots that have the chunk (snapshot_store.h). It is freed with the last
 * reference.
 */
#ifndef ADEPT_COLLECT_KEPT_CHUNK_H
#define ADEPT_COLLECT_KEPT_CHUNK_H

#include <stdbool.h>

#include "libdep/abi/session_file.h"

struct dep_window_file;

/** struct dep_moment - one moment in the time of the monotonic clock and in TSC ticks */
struct dep_moment {
	u64 ns, timestamp;
};

struct dep_kept_chunk {
	struct dep_kept_chunk *next;	/* in the window, or among the window's spare memory */
	size_t size;		/* bytes of memory with this header, or bytes in @file */
	u32 refs;
	u32 thread;		/* serial */
	bool mapped;
	struct dep_moment added;
	struct adept_chunk chunk;
	/* The fields up to @thread_bytes are for a chunk in a file. */
	struct dep_window_file *file;	/* NULL: the chunk is in memory */
	u64 offset;		/* of the body in @file */
	u64 body_check;
	/* as in struct dep_wire_window_chunk, of a chunk that was found in a file */
	u64 number, bytes, thread_chunks, thread_bytes;
	u8 body[];		/* empty with @file */
};

/** struct dep_body_buffer - memory for the body of a chunk that is in a file */
struct dep_body_buffer {
	u8 *data;
	size_t room;
};

/** dep_kept_enlarge() - make room for @size bytes; 0 or -ENOMEM */
int dep_kept_enlarge(struct dep_body_buffer *b, size_t size);
/**
 * dep_kept_body() - get the body of a chunk
 * @b: memory for it, if the chunk is in a file
 *
 * Return: 0; -ENOMEM; -EBADMSG: the file has not what was written; or a negative errno.
 */
int dep_kept_body(const struct dep_kept_chunk *k, struct dep_body_buffer *b, const u8 **body);

/** dep_kept_new() - allocate a chunk of @size bytes with its header; NULL without memory */
struct dep_kept_chunk *dep_kept_new(size_t size);
/** dep_kept_in_file() - allocate a chunk whose body is in @file, which it gets a reference to */
struct dep_kept_chunk *dep_kept_in_file(struct dep_window_file *file);
/** dep_kept_memory() - bytes of memory for a chunk with @fill bytes */
size_t dep_kept_memory(u32 fill);

static inline void dep_kept_get(struct dep_kept_chunk *k)
{
	__atomic_fetch_add(&k->refs, 1, __ATOMIC_RELAXED);
}

/** dep_kept_last() - drop a reference; true if it was the last one: the caller has the memory */
static inline bool dep_kept_last(struct dep_kept_chunk *k)
{
	return __atomic_fetch_sub(&k->refs, 1, __ATOMIC_ACQ_REL) == 1;
}

void dep_kept_free(struct dep_kept_chunk *k);
/** dep_kept_put() - drop a reference, and free the chunk if it was the last one */
void dep_kept_put(struct dep_kept_chunk *k);
/** dep_kept_put_list() - dep_kept_put() for @k and all that follow it */
void dep_kept_put_list(struct dep_kept_chunk *k);

#endif
