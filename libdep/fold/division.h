/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Intervals of time, for passes that count each of them by itself. */
#ifndef ADEPT_FOLD_DIVISION_H
#define ADEPT_FOLD_DIVISION_H

#include "dep/fold.h"
#include "libdep/abi/types.h"

/**
 * struct dep_division - interval i begins at @start_ns + i * @per_ns
 * @per_ns: 0: there is only one
 */
struct dep_division {
	u64 start_ns, per_ns;
};

/**
 * dep_divide() - divide the time of the segments that @options select
 * @options: NULL: all segments
 *
 * An interval begins with the recording.  Number 0 is the first one in which a segment begins.
 *
 * Return: 0; -EINVAL: @per_ns is 0; -ERANGE: there would be more than DEP_INTERVALS_MAX.  With
 * dep_error().
 */
int dep_divide(struct dep_division *d, struct dep_store *store,
	       const struct dep_fold_options *options, u64 per_ns);

/** dep_division_of() - number of the interval of a segment that begins at @ns */
static inline u32 dep_division_of(const struct dep_division *d, u64 ns)
{
	return d->per_ns && ns > d->start_ns ? (u32)((ns - d->start_ns) / d->per_ns) : 0;
}

/** dep_division_start() - when interval @i begins */
static inline u64 dep_division_start(const struct dep_division *d, u32 i)
{
	return d->start_ns + i * d->per_ns;
}

#endif
