// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "division.h"

#define US	1000u		/* nanoseconds */

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

int dep_divide(struct dep_division *d, struct dep_store *store,
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
	d->start_ns = begin + first / per_ns * per_ns;
	d->per_ns = per_ns;
	return 0;
}
