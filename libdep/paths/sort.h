/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stable merge sort of numbers by keys.  It needs no stack: the caller has the second array. */
#ifndef ADEPT_PATHS_SORT_H
#define ADEPT_PATHS_SORT_H

#include "libdep/abi/types.h"

/** struct dep_keyed - a number and its key */
struct dep_keyed {
	u64 key;
	u32 n;
};

/** dep_keyed_add() - add an entry to a list of @n; the caller has room for it */
static inline void dep_keyed_add(struct dep_keyed *list, u32 *n, u64 key, u32 number)
{
	list[*n] = (struct dep_keyed){ .key = key, .n = number };
	++*n;
}

/* Merge [at, middle) and [middle, end) of @from into @to, largest keys first. */
static inline void dep_merge(const struct dep_keyed *from, struct dep_keyed *to, u32 at, u32 middle,
			     u32 end)
{
	u32 left = at, right = middle, i;

	for (i = at; i < end; i++)
		if (left < middle && (right >= end || from[left].key >= from[right].key))
			to[i] = from[left++];
		else
			to[i] = from[right++];
}

/** dep_sort_falling() - sort @n entries, largest keys first; @other: room for as many */
static inline void dep_sort_falling(struct dep_keyed *list, struct dep_keyed *other, u32 n)
{
	struct dep_keyed *from = list, *to = other, *swap;
	u32 width, at, middle, end, i;

	for (width = 1; width < n; width *= 2) {
		for (at = 0; at < n; at = end) {
			middle = n - at > width ? at + width : n;
			end = n - middle > width ? middle + width : n;
			dep_merge(from, to, at, middle, end);
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != list)
		for (i = 0; i < n; i++)
			list[i] = from[i];
}

#endif
