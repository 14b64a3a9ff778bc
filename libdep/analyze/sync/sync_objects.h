/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What threads synchronise by, and the clock of each: words of memory, and objects of the
 * kernel.
 */
#ifndef ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H
#define ADEPT_ANALYZE_SYNC_SYNC_OBJECTS_H

#include "libdep/analyze/predict/predict.h"
#include "libdep/analyze/races/detector.h"

enum order_kind {
	ORDER_WORD,		/* aligned 4 bytes, by address / 4 */
	ORDER_FUTEX,		/* the kernel's queue, by address */
	ORDER_FILE,		/* open file, by its number in struct order_files */
	ORDER_CLOSED,		/* its end, which only who comes to it sees */
	ORDER_SIGNAL,		/* by order_signal(); number 0: whatever any signal may tell */
	ORDER_WRITER,		/* of a read-write lock, by address: who held it alone last.. */
	ORDER_READERS,		/* ..and those who read since */
	ORDER_HEAP,		/* by number of the image: who freed memory */
	ORDER_TRIED,		/* for prediction: who held a lock, by address */
	ORDER_KERNEL,		/* for prediction: 0: system calls that may depend on others */
	ORDER_CHILD,		/* of vfork, by tid: its parent waits until it has left */
	ORDER_END,		/* of an image in a group, by serial */
	ORDER_LOCKS,		/* 0: of files */
};

struct order_object {
	struct order_object *next;
	u64 id;
	struct race_sync sync;
	struct predict_sync predict;
	u8 kind;		/* enum order_kind */
};

/**
 * struct order_objects - all of a process
 *
 * Zeroed, there are none; order_objects_free() before the detector that they are used with.
 * A bit of @lines says that a word in a cache line of that hash may be one.
 */
struct order_objects {
	struct order_object **bucket;
	u32 nbuckets, n;
	u64 lines[1024];
};

static inline u32 order_line_hash(u64 address)
{
	return (u32)((address >> 6) * 0x9e3779b97f4a7c15ull >> 48);
}

/* Quick: 0 if no byte of the cache line of @address belongs to a word that is an object. */
static inline int order_line_marked(const struct order_objects *o, u64 address)
{
	u32 h = order_line_hash(address);

	return o->lines[h >> 6] >> (h & 63) & 1;
}

/** order_object_find() - NULL if there is none */
struct order_object *order_object_find(const struct order_objects *o, enum order_kind kind, u64 id);
/** order_object_get() - made if there is none; NULL: no memory */
struct order_object *order_object_get(struct order_objects *o, enum order_kind kind, u64 id);
void order_objects_free(struct order_objects *o, struct race_detector *d);

#endif
