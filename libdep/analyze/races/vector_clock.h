/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Vector clocks (Mattern, "Virtual Time and Global States of Distributed Systems", 1989) with
 * shared parts.
 *
 * A vector is an array of references to chunks of components. Vectors and chunks are reference
 * counted and copied on write. So copying a clock is cheap, a join skips chunks that both clocks
 * share, and all clocks share the components of threads that ended long ago. The component of a
 * clock's owner is kept outside of the vector: it changes most often and would prevent sharing.
 *
 * Not thread safe. Functions that allocate return -ENOMEM on failure; the clock is then between its
 * old and new value and must not be used.
 */
#ifndef ADEPT_ANALYZE_RACES_VECTOR_CLOCK_H
#define ADEPT_ANALYZE_RACES_VECTOR_CLOCK_H

#include <stdbool.h>

#include "memory_budget.h"

#define RACE_CHUNK	32u	/* components of a vector in a chunk */

struct race_chunk {
	u32 refs;
	u64 value[RACE_CHUNK];
};

struct race_vec {
	u32 refs, n;		/* @n: number of chunks; in a NULL chunk all components are 0 */
	struct race_chunk *chunk[];
};

/**
 * struct race_clock - a vector clock; empty if @epoch is 0
 * @epoch: the component of @owner; the component of @owner in @vec is out of date
 * @whole: this is the clock that @owner had at @epoch, so a clock whose component of @owner is at
 *	least @epoch includes all of it
 */
struct race_clock {
	struct race_vec *vec;
	u64 epoch;
	u32 owner;
	bool whole;
};

struct race_history;

static inline u64 race_vec_get(const struct race_vec *v, u32 thread)
{
	u32 i = thread / RACE_CHUNK;

	return v && i < v->n && v->chunk[i] ? v->chunk[i]->value[thread % RACE_CHUNK] : 0;
}

static inline u64 race_clock_get(const struct race_clock *c, u32 thread)
{
	return thread == c->owner ? c->epoch : race_vec_get(c->vec, thread);
}

struct race_vec *race_vec_ref(struct race_vec *v);
void race_vec_put(struct race_mem *m, struct race_vec *v);

/** race_clock_copy() - replace *@c by a copy of @from */
void race_clock_copy(struct race_mem *m, struct race_clock *c, const struct race_clock *from);
void race_clock_free(struct race_mem *m, struct race_clock *c);

/**
 * race_clock_raise() - raise component @thread of @c to @value if it is less
 * @log: NULL, or the clock history that @c belongs to; it receives the change
 * @version: version of that clock with the change
 *
 * Return: 1 if the component was raised, 0 if not, or -ENOMEM.
 */
int race_clock_raise(struct race_mem *m, struct race_clock *c, u32 thread, u64 value,
		     struct race_history *log, u32 version);

/**
 * race_clock_join() - raise each component of @c to that of @other; otherwise as race_clock_raise()
 */
int race_clock_join(struct race_mem *m, struct race_clock *c, const struct race_clock *other,
		    struct race_history *log, u32 version);

#endif
