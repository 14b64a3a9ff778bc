/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What threads synchronise by, and the clock of each: words of memory, and objects of the
 * kernel.
 */
#ifndef ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H
#define ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H

#include "libdep/analyze/predict/predict.h"
#include "libdep/analyze/races/detector.h"

enum sync_object_kind {
	SYNC_WORD,		/* aligned 4 bytes, by address / 4 */
	SYNC_FUTEX,		/* the kernel's queue, by address */
	SYNC_FILE,		/* open file, by its number in struct sync_files */
	SYNC_CLOSED,		/* its end, which only who comes to it sees */
	SYNC_SIGNAL,		/* by sync_signal(); number 0: whatever any signal may tell */
	SYNC_WRITER,		/* of a read-write lock, by address: who held it alone last.. */
	SYNC_READERS,		/* ..and those who read since */
	SYNC_HEAP,		/* by number of the image: who freed memory */
	SYNC_TRIED,		/* for prediction: who held a lock, by address */
	SYNC_KERNEL,		/* for prediction: 0: system calls that may depend on others */
	SYNC_CHILD,		/* of vfork, by tid: its parent waits until it has left */
	SYNC_END,		/* of an image in a group, by serial */
	SYNC_LOCKS,		/* 0: of files */
};

struct sync_object {
	struct sync_object *next;
	u64 id;
	struct race_sync sync;
	struct predict_sync predict;
	u8 kind;		/* enum sync_object_kind */
};

/**
 * struct sync_objects - all of a process
 *
 * Zeroed, there are none; sync_objects_free() before the detector that they are used with.
 * A bit of @lines says that a word in a cache line of that hash may be one.
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

/* Quick: 0 if no byte of the cache line of @address belongs to a word that is an object. */
static inline int sync_line_marked(const struct sync_objects *o, u64 address)
{
	u32 h = sync_line_hash(address);

	return o->lines[h >> 6] >> (h & 63) & 1;
}

/** sync_object_find() - NULL if there is none */
struct sync_object *sync_object_find(const struct sync_objects *o, enum sync_object_kind kind,
				     u64 id);
/** sync_object_get() - made if there is none; NULL: no memory */
struct sync_object *sync_object_get(struct sync_objects *o, enum sync_object_kind kind, u64 id);
void sync_objects_free(struct sync_objects *o, struct race_detector *d);

#endif
