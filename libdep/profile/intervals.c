// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Profiles of intervals of time.
 *
 * One pass counts everything, with the interval as a part of each counter's key.  Then the counters
 * are sorted by interval, and the rows of one interval after the other are made from them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "pass.h"

#define US	1000u		/* nanoseconds */

struct dep_intervals {
	struct dep_pass pass;
	struct dep_table whole;		/* the rows of instructions of the whole pass */
	struct dep_counted left;	/* counters of the intervals that remain */
	struct dep_counted now;		/* of the current interval */
	size_t next_time;		/* first row of pass.profile->time that remains */
	struct dep_profile part;	/* of the current interval */
};

/* ---- the division of the time ---- */

static bool is_wanted(const struct dep_fold_options *o, const struct dep_segment *seg)
{
	return !o || ((!o->thread || o->thread == seg->thread) && seg->start_ns >= o->from_ns &&
		      (!o->to_ns || seg->start_ns < o->to_ns));
}

static int too_many(u64 least_ns)
{
	char why[128];

	snprintf(why, sizeof(why), "more than %u intervals; the smallest possible here is %lluus",
		 DEP_INTERVALS_MAX, (unsigned long long)((least_ns - 1) / US + 1));
	return dep_fail_again(-ERANGE, why);
}

/* Divide the time of the segments that are wanted. */
static int divide(struct dep_counts_all *a, struct dep_store *store,
		  const struct dep_fold_options *options, u64 per_ns)
{
	const u64 begin = dep_store_meta(store)->start_ns;
	u64 first = UINT64_MAX, last = 0, at, least;
	const struct dep_segment *seg;
	size_t i, n = dep_store_segments(store, &seg);

	if (!per_ns)
		return dep_fail(-EINVAL, "an interval of 0 ns");
	for (i = 0; i < n; i++) {
		if (!is_wanted(options, &seg[i]))
			continue;
		/* A damaged store can have segments that begin before the recording. */
		at = seg[i].start_ns > begin ? seg[i].start_ns - begin : 0;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	first = first < last ? first : last;
	/* So there are at most DEP_INTERVALS_MAX, wherever an interval begins. */
	least = (last - first) / (DEP_INTERVALS_MAX - 1) + 1;
	if (per_ns < least)
		return too_many(least);
	a->start_ns = begin + first / per_ns * per_ns;
	a->per_ns = per_ns;
	return 0;
}

/* ---- the interface ---- */

int dep_intervals_make(struct dep_store *store, const struct dep_fragments *code,
		       const struct dep_fold_options *options, uint64_t per_ns,
		       struct dep_intervals **out)
{
	struct dep_intervals *iv = calloc(1, sizeof(*iv));
	int err = iv ? 0 : dep_fail(-ENOMEM, "intervals");

	if (!err)
		err = divide(&iv->pass.all, store, options, per_ns);
	if (!err)
		err = dep_pass_run(&iv->pass, store, code, options);
	if (err) {
		dep_intervals_free(iv);
		return err;
	}
	iv->whole.row = (void *)iv->pass.profile->insn;
	iv->whole.n = iv->pass.profile->ninsns;
	iv->pass.rows.whole = &iv->whole;
	iv->pass.rows.counts = &iv->now;
	dep_counted_sort(&iv->pass.counted);
	iv->left = iv->pass.counted;
	*out = iv;
	return 0;
}

static void free_part(struct dep_intervals *iv)
{
	free((void *)iv->part.insn);
	free((void *)iv->part.edge);
	iv->part = (struct dep_profile){ 0 };
}

void dep_intervals_free(struct dep_intervals *iv)
{
	if (!iv)
		return;
	free_part(iv);
	dep_pass_free(&iv->pass);
	free(iv);
}

const struct dep_profile *dep_intervals_whole(const struct dep_intervals *iv)
{
	return iv->pass.profile;
}

/* Take the segments of the next interval; return its number. */
static u32 take_times(struct dep_intervals *iv)
{
	const struct dep_profile *whole = iv->pass.profile;
	u32 interval = dep_interval_of(&iv->pass.all, whole->time[iv->next_time].start_ns);
	struct dep_profile *p = &iv->part;

	p->time = &whole->time[iv->next_time];
	while (iv->next_time < whole->ntimes &&
	       dep_interval_of(&iv->pass.all, whole->time[iv->next_time].start_ns) == interval)
		p->insns += whole->time[iv->next_time++].insns;
	p->ntimes = (size_t)(&whole->time[iv->next_time] - p->time);
	return interval;
}

int dep_intervals_next(struct dep_intervals *iv, struct dep_interval *out)
{
	const struct dep_counts_all *all = &iv->pass.all;
	u32 interval;
	int err;

	free_part(iv);
	if (iv->next_time == iv->pass.profile->ntimes)
		return 0;
	interval = take_times(iv);
	dep_counted_next(&iv->left, interval, &iv->now);
	err = dep_rows_make(&iv->pass.rows);
	dep_pass_take_rows(&iv->pass, &iv->part);
	if (err)
		return err;
	out->start_ns = all->start_ns + interval * all->per_ns;
	out->end_ns = out->start_ns > UINT64_MAX - all->per_ns ? UINT64_MAX :
		      out->start_ns + all->per_ns;
	out->profile = &iv->part;
	return 1;
}
