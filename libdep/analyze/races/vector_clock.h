/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Vector clocks (Mattern, "Virtual Time and Global States of Distributed Systems", 1989)
 * that share what they have in common.
 *
 * A vector is an array of references to chunks of components; both are counted and are
 * copied when one who shares them writes.  So copying a clock costs nothing, a join
 * passes over chunks that both have, and components of threads that ended long ago stand
 * in chunks that all clocks share.  The component of a clock's owner stands beside the
 * vector: it changes most often and would undo the sharing.
 *
 * One thread uses them at a time.  Functions that may allocate return -ENOMEM; what a
 * clock holds then is between old and new and must not be relied on.
 */
#ifndef ADEPT_ANALYZE_RACES_VECTOR_CLOCK_H
#define ADEPT_ANALYZE_RACES_VECTOR_CLOCK_H

#include <stdbool.h>

#include "memory_budget.h"

#define RACE_CHUNK	32u	/* components */

struct race_chunk {
	u32 refs;
	u64 value[RACE_CHUNK];
};

struct race_vec {
	u32 refs, n;		/* n chunks; absent ones are NULL, and zeros */
	struct race_chunk *chunk[];
};

/**
 * struct race_clock - epoch 0: the empty clock, whatever else it holds
 * @epoch: the component of @owner; what the vector says of it is older
 * @whole: this is what @owner's clock was at @epoch, so whoever knows that epoch knows
 *	all of this
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

/** race_clock_copy() - *@c, which is empty or is freed, becomes @from */
void race_clock_copy(struct race_mem *m, struct race_clock *c, const struct race_clock *from);
void race_clock_free(struct race_mem *m, struct race_clock *c);

/**
 * race_clock_raise() - component @thread becomes @value if it is less
 * @log: where changes of a thread's clock are noted, as seen from @version on; or NULL
 *
 * Return: 1 if it was, 0 if not, or -ENOMEM.
 */
int race_clock_raise(struct race_mem *m, struct race_clock *c, u32 thread, u64 value,
		     struct race_history *log, u32 version);

/** race_clock_join() - each component the larger one; arguments and result as above */
int race_clock_join(struct race_mem *m, struct race_clock *c, const struct race_clock *other,
		    struct race_history *log, u32 version);

#endif
