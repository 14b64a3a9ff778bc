/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The counters of a pass in arrays, sorted: what rows are made from. */
#ifndef ADEPT_PROFILE_COUNTED_H
#define ADEPT_PROFILE_COUNTED_H

#include "count.h"

/** struct dep_counted - counters, with the keys of struct dep_counts_all */
struct dep_counted {
	struct dep_exit_total *exit;
	struct dep_counter *piece, *pair, *interruption;
	size_t nexits, npieces, npairs, ninterruptions;
};

/**
 * dep_counted_take() - take the counters of @all, which dep_counts_settle() has sorted
 *
 * Exits and pieces are sorted by process and fragment.  dep_counted_free() is needed also after
 * errors.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_counted_take(struct dep_counted *c, struct dep_counts_all *all);
void dep_counted_free(struct dep_counted *c);

/** dep_counted_sort() - sort by interval first; exits and pieces then by process and fragment */
void dep_counted_sort(struct dep_counted *c);

/**
 * dep_counted_next() - move the counters of @interval from the beginning of @left to @out
 * @left: a copy of what dep_counted_sort() has sorted; only its pointers and numbers change
 */
void dep_counted_next(struct dep_counted *left, u32 interval, struct dep_counted *out);

#endif
