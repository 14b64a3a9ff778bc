// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Profiles of intervals of time.
 *
 * One pass counts everything, with the interval as a part of each counter's key.  Then the counters
 * are sorted by interval, and the rows of one interval after the other are made from them.
 */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "pass.h"

struct dep_intervals {
	struct dep_pass pass;
	struct dep_table whole;		/* the rows of instructions of the whole pass */
	struct dep_counted left;	/* counters of the intervals that remain */
	struct dep_counted now;		/* of the current interval */
	size_t next_time;		/* first row of pass.profile->time that remains */
	struct dep_profile part;	/* of the current interval */
};

int dep_intervals_make(struct dep_store *store, const struct dep_fragments *code,
		       const struct dep_fold_options *options, uint64_t per_ns,
		       struct dep_intervals **out)
{
	struct dep_intervals *iv = calloc(1, sizeof(*iv));
	int err = iv ? 0 : dep_fail(-ENOMEM, "intervals");

	if (!err)
		err = dep_divide(&iv->pass.all.division, store, options, per_ns);
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
	const struct dep_division *d = &iv->pass.all.division;
	u32 interval = dep_division_of(d, whole->time[iv->next_time].start_ns);
	struct dep_profile *p = &iv->part;

	p->time = &whole->time[iv->next_time];
	while (iv->next_time < whole->ntimes &&
	       dep_division_of(d, whole->time[iv->next_time].start_ns) == interval)
		p->insns += whole->time[iv->next_time++].insns;
	p->ntimes = (size_t)(&whole->time[iv->next_time] - p->time);
	return interval;
}

int dep_intervals_next(struct dep_intervals *iv, struct dep_interval *out)
{
	const struct dep_division *d = &iv->pass.all.division;
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
	out->start_ns = dep_division_start(d, interval);
	out->end_ns = out->start_ns > UINT64_MAX - d->per_ns ? UINT64_MAX :
		      out->start_ns + d->per_ns;
	out->profile = &iv->part;
	return 1;
}
