/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Granules that a thread has for itself for a while, and accesses in pieces.
 *
 * Its bytes have different states then, as many as there are granules and intervals: looking one
 * up for each access, to be used by no other granule, is what takes the time.  So such a
 * granule has a record of its own, which that thread's accesses change where it is: by byte the
 * interval of its last read and of its last write, beside one state that other threads' accesses
 * have left.  Anything else makes states of it again.
 *
 * Only what bytes race is told by it, and not at what places: RACE_BYTES.
 */
#ifndef ADEPT_ANALYZE_RACES_LOCAL_SHADOW_H
#define ADEPT_ANALYZE_RACES_LOCAL_SHADOW_H

#include <stdbool.h>

#include "memory_budget.h"

#define RACE_LOCAL	(1u << 31)	/* in a cell: it is the number of a record */
#define RACE_LOCAL_CHUNK	1024u

typedef u16 race_each_byte __attribute__((vector_size(16), aligned(4)));

/**
 * struct race_local - a granule's
 * @under: what others left, id of a state: it counts for bytes that are not @bare
 * @base: intervals are counted from this one on, which is 1; 0: none
 * @covers: all in @under is left out for a write of the thread
 */
struct race_local {
	u32 under, base;
	u16 thread;
	u8 bare;
	u8 inside : 1, covers : 1;
	race_each_byte read, wrote;
};

struct race_owns {
	struct race_local **chunk;
	u32 nchunks, room;
	u32 used;		/* of the last chunk */
	u32 free;		/* list by @under of what was given back; 0: none */
};

static inline struct race_local *race_local_get(const struct race_owns *s, u32 cell)
{
	cell &= ~RACE_LOCAL;
	return &s->chunk[cell / RACE_LOCAL_CHUNK][cell % RACE_LOCAL_CHUNK];
}

/** race_local_take() - a cell with an empty record; 0: no memory */
u32 race_local_take(struct race_mem *m, struct race_owns *s);
/** race_local_give() - nobody has @cell any more */
void race_local_give(struct race_owns *s, u32 cell);
/** race_owns_each() - call @f for what is under all records */
void race_owns_each(const struct race_owns *s, void (*f)(void *arg, u32 under), void *arg);
void race_owns_free(struct race_mem *m, struct race_owns *s);

/** race_local_since() - has the thread accessed byte @b at @epoch or later? */
static inline bool race_local_since(const struct race_local *o, u32 b, u64 epoch)
{
	u16 at = o->read[b] > o->wrote[b] ? o->read[b] : o->wrote[b];

	return at && (u64)(o->base + at - 2) << 16 >= epoch;
}

/** race_local_note() - bytes @mask are read, or written, in interval @at */
static inline void race_local_note(struct race_local *o, u32 mask, bool write, u16 at)
{
	const race_each_byte each = { 1, 2, 4, 8, 16, 32, 64, 128 };
	race_each_byte those = (((race_each_byte){ 0 } + (u16)mask) & each) != 0;

	if (write) {
		o->wrote = (o->wrote & ~those) | (at & those);
		o->read &= ~those;
		o->bare |= (u8)mask;
	} else {
		o->read = (o->read & ~those) | (at & those);
	}
}

#endif
