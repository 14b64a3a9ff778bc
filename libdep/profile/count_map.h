/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hash table of counters. */
#ifndef ADEPT_PROFILE_COUNT_MAP_H
#define ADEPT_PROFILE_COUNT_MAP_H

#include <stddef.h>

#include "libdep/abi/types.h"

/** struct dep_counter - a counter and its key, whose meaning is the user's */
struct dep_counter {
	u64 a, b;
	u32 c, d, e, pad;
	u64 count;		/* 0: the slot is free */
};

/** struct dep_count_map - begin with zeros */
struct dep_count_map {
	struct dep_counter *slot;
	size_t n, room;		/* counters; slots, a power of two */
};

/** dep_count_add() - add @more, which is not 0, to the counter of @key; 0 or -ENOMEM */
int dep_count_add(struct dep_count_map *m, const struct dep_counter *key, u64 more);
/** dep_count_join() - add all counters of @from to @to; 0 or -ENOMEM */
int dep_count_join(struct dep_count_map *to, const struct dep_count_map *from);
void dep_count_free(struct dep_count_map *m);

#endif
