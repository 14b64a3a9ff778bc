/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access histories: the accesses to a byte that later accesses are compared with.
 *
 * An access history (struct access_history) is immutable and interned: equal histories have the
 * same 32-bit id (hash consing, as in Ershov, "On Programming of Arithmetic Operations", 1958).
 * Shadow memory holds ids. So a loop over an array makes one history, however long the array is,
 * and the result of an access to a history can be cached by its id (detector.c). Id 0 is the empty
 * history. Ids have 31 bits; bit 31 marks a thread-local shadow entry (local_shadow.h).
 *
 * Ids are not reference counted. When enough new histories have been made, detector_gc.c marks
 * those in use and frees the others; this happens between accesses.
 *
 * The time of an access is its thread's index (16 bits) above the thread's epoch (48 bits, see
 * internal.h).
 */
#ifndef ADEPT_ANALYZE_RACES_ACCESS_HISTORY_H
#define ADEPT_ANALYZE_RACES_ACCESS_HISTORY_H

#include <stdbool.h>

#include "memory_budget.h"

#define RACE_WORD		8u	/* bytes of a shadow word */
/* maximum number of accesses in a history, so that it fits into a chunk */
#define ACCESS_HISTORY_MAX	40000u

/* bits of access_history.info: number of accesses, and flags */
#define ACCESS_HISTORY_N	0xfffffu
#define ACCESS_HISTORY_FULL	(1u << 20)	/* the byte has raced: keep all code locations */
/* history of a shadow word: the ids of its eight bytes' histories instead of accesses */
#define ACCESS_HISTORY_SPLIT	(1u << 21)
#define ACCESS_HISTORY_MARK	(1u << 22)
/* free memory; ACCESS_HISTORY_N has its size in units */
#define ACCESS_HISTORY_FREE	(1u << 23)

/**
 * struct access_history - an access history; the arrays when[n] and site[n] follow, or part[8]
 * @next: id of the next history in the same hash list
 *
 * Accesses are sorted by time and site: first the reads, then the writes except the last one. The
 * last write is at the end.
 */
struct access_history {
	u32 next;
	u32 info;
};

/* bytes of a unit; an id is the number of a history's first unit */
#define RACE_UNIT	16u
#define RACE_ARENA	65536u		/* number of units in a chunk */

struct access_histories {
	u8 **chunk;
	u32 nchunks, room;	/* entries of @chunk; chunk[i] NULL: freed */
	u32 gaps;
	/* index of the chunk that is filled, and number of units used in it */
	u32 last, used;
	u32 hole, hole_end;	/* gap of free units that the next histories are put into */
	u32 holes;		/* list of further gaps: id of the first; 0: none */
	u32 *head;
	u32 heads;		/* size of @head, a power of two */
	u32 n;
	u64 live;		/* bytes of live histories after the last sweep */
	u64 fresh;		/* bytes allocated since then */
};

int access_histories_init(struct race_mem *m, struct access_histories *s);
void access_histories_free(struct race_mem *m, struct access_histories *s);

static inline struct access_history *access_histories_get(const struct access_histories *s, u32 id)
{
	return (struct access_history *)(s->chunk[id / RACE_ARENA] +
					 (size_t)(id % RACE_ARENA) * RACE_UNIT);
}

static inline u32 access_history_n(const struct access_history *s)
{
	return s->info & ACCESS_HISTORY_N;
}

static inline u64 *access_history_when(struct access_history *s)
{
	return (u64 *)(s + 1);
}

static inline u32 *access_history_site(struct access_history *s)
{
	return (u32 *)(access_history_when(s) + access_history_n(s));
}

static inline u32 *access_history_part(struct access_history *s)
{
	return (u32 *)(s + 1);
}

/**
 * access_histories_find() - find the history with the @n accesses @when and @site, or make it
 * @flags: 0 or ACCESS_HISTORY_FULL
 * @id: receives the id
 *
 * Return: 0 or -ENOMEM.
 */
int access_histories_find(struct race_mem *m, struct access_histories *s, u32 flags, u32 n,
			  const u64 *when, const u32 *site, u32 *id);
/**
 * access_histories_find_split() - find or make the history of a shadow word whose eight bytes have
 * the histories @part
 */
int access_histories_find_split(struct race_mem *m, struct access_histories *s, const u32 *part,
				u32 *id);

/** access_histories_mark() - mark history @id as used, and those of its bytes */
void access_histories_mark(struct access_histories *s, u32 id);
/** access_histories_free_unmarked() - free unmarked histories; their ids are reused */
void access_histories_free_unmarked(struct race_mem *m, struct access_histories *s);
/** access_histories_each() - call @f for each history */
void access_histories_each(struct access_histories *s,
			   void (*f)(void *arg, struct access_history *state), void *arg);

#endif
