/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Thread-local shadow entries: for shadow words that one thread accesses in pieces.
 *
 * The bytes of such a word have different access histories, about one for each word and interval.
 * Looking up a history that no other word has is slow. So the word gets a thread-local entry, which
 * the thread changes in place: for each byte the intervals of its last read and write by the
 * thread, and one common history of other threads' accesses. An access that does not fit turns the
 * entry back into access histories (race_local_flush()).
 *
 * An entry has the bytes that race, but not the code locations of the accesses: it requires
 * RACE_BYTES.
 */
#ifndef ADEPT_ANALYZE_RACES_LOCAL_SHADOW_H
#define ADEPT_ANALYZE_RACES_LOCAL_SHADOW_H

#include <stdbool.h>

#include "memory_budget.h"

/* flag in a cell: the other bits are the number of a thread-local entry */
#define RACE_LOCAL	(1u << 31)
#define RACE_LOCAL_CHUNK	1024u

typedef u16 race_each_byte __attribute__((vector_size(16), aligned(4)));

/**
 * struct race_local - a thread-local shadow entry
 * @under: history of other threads' accesses to the bytes that are not in @bare
 * @base: @read and @wrote number intervals from 1; @base is the version + 1 of interval 1
 * @bare: bytes without accesses by other threads
 * @inside: the thread's accesses have RACE_INSIDE
 * @covers: a write of the thread makes all accesses in @under unnecessary
 * @read: by byte: interval number of the thread's last read; 0: none
 * @wrote: by byte: interval number of the thread's last write; 0: none
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
	u32 used;		/* number of entries used in the last chunk */
	/* cell of the first free entry; they are linked by @under; 0: none */
	u32 free;
};

static inline struct race_local *race_local_get(const struct race_owns *s, u32 cell)
{
	cell &= ~RACE_LOCAL;
	return &s->chunk[cell / RACE_LOCAL_CHUNK][cell % RACE_LOCAL_CHUNK];
}

/** race_local_take() - allocate an empty entry and return its cell; 0: no memory */
u32 race_local_take(struct race_mem *m, struct race_owns *s);
/** race_local_give() - free the entry of @cell */
void race_local_give(struct race_owns *s, u32 cell);
/** race_owns_each() - call @f with the history @under of each entry that has one */
void race_owns_each(const struct race_owns *s, void (*f)(void *arg, u32 under), void *arg);
void race_owns_free(struct race_mem *m, struct race_owns *s);

/** race_local_since() - has the entry's thread accessed byte @b at @epoch or later? */
static inline bool race_local_since(const struct race_local *o, u32 b, u64 epoch)
{
	u16 at = o->read[b] > o->wrote[b] ? o->read[b] : o->wrote[b];

	return at && (u64)(o->base + at - 2) << 16 >= epoch;
}

/** race_local_note() - the entry's thread reads or writes bytes @mask in interval number @at */
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
