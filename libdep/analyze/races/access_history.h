/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of the accesses to a byte: a state.
 *
 * States are values: they never change, equal ones are one (hash consing, as in Ershov,
 * "On Programming of Arithmetic Operations", 1958), and shadow memory holds their 32-bit
 * ids.  So a loop over an array makes one state however long the array is, and what an
 * access does to a state can be remembered by its id (detector.c).  Id 0 is the empty state.
 * They have 31 bits: where there is one more, it is something else (local_shadow.h).
 *
 * Nobody counts who holds an id.  Once there are many new ones, the holders mark what
 * they hold and the rest is swept; detector_gc.c does that, between accesses.
 *
 * Times are a thread's index (16 bits) above its epoch (48 bits, see internal.h).
 */
#ifndef ADEPT_ANALYZE_RACES_ACCESS_HISTORY_H
#define ADEPT_ANALYZE_RACES_ACCESS_HISTORY_H

#include <stdbool.h>

#include "memory_budget.h"

#define RACE_GRANULE		8u	/* bytes that one id stands for */
#define RACE_STATE_MAX		40000u	/* accesses in a state: as many as an arena chunk holds */

/* struct race_state, info: the number of accesses and.. */
#define RACE_STATE_N		0xfffffu
#define RACE_STATE_FULL		(1u << 20)	/* it raced: all places are kept from then on */
#define RACE_STATE_SPLIT	(1u << 21)	/* the ids of eight bytes instead of accesses */
#define RACE_STATE_MARK		(1u << 22)
#define RACE_STATE_FREE		(1u << 23)	/* none; n is its size in units */

/**
 * struct race_state - when[n] and site[n] follow, or part[8]
 * @next: in a list of the same hash
 *
 * First the reads by time and site, then the writes but the last one likewise, then the
 * write that came last.
 */
struct race_state {
	u32 next;
	u32 info;
};

#define RACE_UNIT	16u		/* bytes; an id counts them */
#define RACE_ARENA	65536u		/* units in a chunk */

struct race_states {
	u8 **chunk;
	u32 nchunks, room;	/* some may be NULL: */
	u32 gaps;
	u32 last, used;		/* the chunk that new ones are taken from, units of it */
	u32 hole, hole_end;	/* free units that are used up next */
	u32 holes;		/* list of more */
	u32 *head;
	u32 heads;		/* a power of two */
	u32 n;
	u64 live;		/* bytes after the last sweep */
	u64 fresh;		/* bytes since */
};

int race_states_init(struct race_mem *m, struct race_states *s);
void race_states_free(struct race_mem *m, struct race_states *s);

static inline struct race_state *race_states_get(const struct race_states *s, u32 id)
{
	return (struct race_state *)(s->chunk[id / RACE_ARENA] +
				     (size_t)(id % RACE_ARENA) * RACE_UNIT);
}

static inline u32 race_state_n(const struct race_state *s)
{
	return s->info & RACE_STATE_N;
}

static inline u64 *race_state_when(struct race_state *s)
{
	return (u64 *)(s + 1);
}

static inline u32 *race_state_site(struct race_state *s)
{
	return (u32 *)(race_state_when(s) + race_state_n(s));
}

static inline u32 *race_state_part(struct race_state *s)
{
	return (u32 *)(s + 1);
}

/**
 * race_states_find() - *@id: of the state with these accesses, which may be new
 * @flags: 0 or RACE_STATE_FULL
 *
 * Return: 0 or -ENOMEM.
 */
int race_states_find(struct race_mem *m, struct race_states *s, u32 flags, u32 n, const u64 *when,
		     const u32 *site, u32 *id);
/** race_states_find_split() - the same of a granule whose bytes have these states */
int race_states_find_split(struct race_mem *m, struct race_states *s, const u32 *part, u32 *id);

/** race_states_mark() - @id is held, and what it is made of */
void race_states_mark(struct race_states *s, u32 id);
/** race_states_free_unmarked() - what is not marked is gone, its ids will be used again */
void race_states_free_unmarked(struct race_mem *m, struct race_states *s);
/** race_states_each() - call @f for all of them */
void race_states_each(struct race_states *s, void (*f)(void *arg, struct race_state *state),
		      void *arg);

#endif
