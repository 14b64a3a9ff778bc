/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Synchronisation objects, each with a clock: memory words, and objects of the kernel. */
#ifndef ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H
#define ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H

#include "libdep/analyze/predict/predict.h"
#include "libdep/analyze/races/detector.h"

enum sync_object_kind {
	SYNC_WORD,		/* aligned 4 bytes of memory; id: address / 4 */
	SYNC_FUTEX,		/* wait queue in the kernel; id: address */
	SYNC_FILE,		/* open file; id: its number in struct sync_files */
	/*
	 * close or shutdown of a file, acquired by a thread that reads end of file; id: as
	 * SYNC_FILE
	 */
	SYNC_CLOSED,
	/* signal; id: sync_signal(), where number 0 is timers, which may send any signal */
	SYNC_SIGNAL,
	SYNC_WRITER,		/* read-write lock, released by writers; id: address */
	SYNC_READERS,		/* read-write lock, released by readers; id: address */
	SYNC_HEAP,		/* heap memory freed by an image; id: number of the image */
	SYNC_TRIED,		/* only prediction: past holders of a lock; id: address */
	/* only prediction: system calls that may depend on each other; id: 0 */
	SYNC_KERNEL,
	SYNC_CHILD,		/* vfork() child that has left its parent's memory; id: tid */
	SYNC_END,		/* end of an image in a group; id: serial */
	SYNC_LOCKS,		/* all file locks; id: 0 */
	/*
	 * threads that have left the engine for a pause, acquired by those that are recorded after
	 * it: what happened between is not known; id: first_number of the image
	 */
	SYNC_PAUSE,
};

struct sync_object {
	struct sync_object *next;
	u64 id;
	struct race_sync sync;
	struct predict_sync predict;
	u8 kind;		/* enum sync_object_kind */
};

/**
 * struct sync_objects - all synchronisation objects of a process; empty if zeroed
 * @lines: Bloom filter of the cache lines that have SYNC_WORD objects
 *
 * Call sync_objects_free() before the detector is freed.
 */
struct sync_objects {
	struct sync_object **bucket;
	u32 nbuckets, n;
	u64 lines[1024];
};

static inline u32 sync_line_hash(u64 address)
{
	return (u32)((address >> 6) * 0x9e3779b97f4a7c15ull >> 48);
}

/* Quick test, with false positives: is a word in the cache line of @address an object? */
static inline int sync_line_marked(const struct sync_objects *o, u64 address)
{
	u32 h = sync_line_hash(address);

	return o->lines[h >> 6] >> (h & 63) & 1;
}

/** sync_object_find() - find an object; NULL: none */
struct sync_object *sync_object_find(const struct sync_objects *o, enum sync_object_kind kind,
				     u64 id);
/** sync_object_get() - find or make an object; NULL: no memory */
struct sync_object *sync_object_get(struct sync_objects *o, enum sync_object_kind kind, u64 id);
void sync_objects_free(struct sync_objects *o, struct race_detector *d);

#endif
