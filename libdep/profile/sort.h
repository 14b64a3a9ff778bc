/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sort many rows by the place that they are about. */
#ifndef ADEPT_PROFILE_SORT_H
#define ADEPT_PROFILE_SORT_H

#include "libdep/format/file/table.h"

/** struct dep_place_fields - offsets of an u64 and two u32 fields in a row */
struct dep_place_fields {
	size_t pc, image, process;
};

/**
 * dep_sort_places() - sort the rows of @t by process, image, pc, and then by @compare
 * @compare: agrees with that order
 *
 * Rows are sorted by their digits: several times faster than by comparisons.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_sort_places(struct dep_table *t, size_t row_size, const struct dep_place_fields *at,
		    int (*compare)(const void *a, const void *b));

#endif
