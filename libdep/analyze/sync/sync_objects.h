/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects that threads synchronise by, each with a clock: words of memory and objects of the
 * kernel.
 */
#ifndef ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H
#define ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H

#include "libdep/analyze/predict/predict.h"
#include "libdep/analyze/races/detector.h"

enum sync_object_kind {
	SYNC_WORD,		/* aligned 4 bytes, by address / 4 */
	SYNC_FUTEX,		/* kernel's wait queue, by address */
	SYNC_FILE,		/* open file, by its number in struct sync_files */
	/* close or shutdown of a file; acquired by a thread that reads its end */
	SYNC_CLOSED,
	SYNC_SIGNAL,		/* by sync_signal(); number 0: timers, which may send any signal */
	SYNC_WRITER,		/* of a read-write lock, by address: released by writers */
	SYNC_READERS,		/* of the same lock: released by readers */
	SYNC_HEAP,		/* memory freed by an image, by its number */
	SYNC_TRIED,		/* for prediction: past holders of a lock, by address */
	SYNC_KERNEL,		/* for prediction, 0: system calls that may depend on each other */
	SYNC_CHILD,		/* vfork child that has left its parent's memory, by tid */
	SYNC_END,		/* end of an image in a group, by serial */
	SYNC_LOCKS,		/* file locks, 0 */
};

struct sync_object {
	struct sync_object *next;
	u64 id;
	struct race_sync sync;
	struct predict_sync predict;
	u8 kind;		/* enum sync_object_kind */
};

/**
 * struct sync_objects - all objects of a process; empty if zeroed
 *
 * Call sync_objects_free() before the detector is freed. A bit of @lines says that a word in a
 * cache line with that hash may be an object.
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

/* Quick test: 0 if no word in the cache line of @address is an object. */
static inline int sync_line_marked(const struct sync_objects *o, u64 address)
{
	u32 h = sync_line_hash(address);

	return o->lines[h >> 6] >> (h & 63) & 1;
}

/** sync_object_find() - NULL if there is none */
struct sync_object *sync_object_find(const struct sync_objects *o, enum sync_object_kind kind,
				     u64 id);
/** sync_object_get() - find or make; NULL: no memory */
struct sync_object *sync_object_get(struct sync_objects *o, enum sync_object_kind kind, u64 id);
void sync_objects_free(struct sync_objects *o, struct race_detector *d);

#endif
