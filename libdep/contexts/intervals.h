/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What contexts executed in each interval of time: rows that are added up while they are made. */
#ifndef ADEPT_CONTEXTS_INTERVALS_H
#define ADEPT_CONTEXTS_INTERVALS_H

#include "dep/contexts.h"
#include "libdep/abi/types.h"

/** struct dep_interval_rows - a row for each interval and context; all zero: none */
struct dep_interval_rows {
	struct dep_context_interval *row;
	size_t n, room;
	u32 *map;		/* hash table of 1 + index in @row; 0: free */
	u32 map_mask;
};

/**
 * dep_interval_rows_add() - add @in to the row of its interval and context
 * @limit: most rows
 *
 * Return: 0, -EFBIG or -ENOMEM with dep_error().
 */
int dep_interval_rows_add(struct dep_interval_rows *t, const struct dep_context_interval *in,
			  u64 limit);
void dep_interval_rows_free(struct dep_interval_rows *t);

#endif
