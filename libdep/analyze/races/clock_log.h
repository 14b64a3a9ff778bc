/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Log of the changes of a thread's clock: vector_clock.c adds to it, clock_history.c reads it. */
#ifndef ADEPT_ANALYZE_RACES_CLOCK_LOG_H
#define ADEPT_ANALYZE_RACES_CLOCK_LOG_H

#include "memory_budget.h"

struct race_vec;

struct race_change {
	u32 version;		/* first version of the clock with the change */
	u32 thread;
	u64 value;
};

struct race_point {
	size_t at;		/* index of the first change that is not in @vec */
	struct race_vec *vec;
	u32 version;
};

/**
 * struct race_history - history of a thread's clock; @written: version of the thread's last write
 */
struct race_history {
	u32 written;
	struct race_change *change;
	size_t n, room;
	struct race_point *point;
	size_t npoints, point_room;
};

/**
 * race_history_add() - log that the component of @thread is @value from @version on; versions never
 * decrease
 */
int race_history_add(struct race_mem *m, struct race_history *h, u32 version, u32 thread,
		     u64 value);
/** race_history_grow() - make room for element @n of the array *@p; 0 or -ENOMEM */
int race_history_grow(struct race_mem *m, void **p, size_t *room, size_t n, size_t size);

#endif
