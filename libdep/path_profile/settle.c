// SPDX-License-Identifier: LGPL-2.1-or-later
/* The end of a pass: what was counted by stretches becomes counts of transitions and paths. */
#include "pass.h"

/* The paths that began and ended within a stretch; sequences have counted them. */
static int count_paths(struct dep_path_pass *p, const struct dep_path_stretch *at, u64 count)
{
	int err = 0;
	u32 i;

	for (i = 0; p->iterations == 1 && i < at->nlater && !err; i++)
		err = dep_path_count_whole(p, at->function,
					   *DEP_PATH_ROW(u64, p->later, at->later + i), count);
	return err;
}

/* What functions have counted by number. */
static int count_numbers(struct dep_path_pass *p, u32 function)
{
	const struct dep_path_fn *f = dep_path_fn_at(p, function);
	u64 i;
	int err = 0;

	for (i = 0; f->count && i < f->paths.total && !err; i++)
		if (f->count[i])
			err = dep_path_count_whole(p, function, i, f->count[i]);
	return err;
}

int dep_path_settle(struct dep_path_pass *p)
{
	const struct dep_path_stretch *at;
	struct dep_stretch *hot;
	int err = 0;
	u32 i, k;

	for (i = 0; i < p->stretch.n && !err; i++) {
		at = dep_path_stretch_at(p, i);
		hot = dep_path_hot_at(p, i);
		if (!hot->count)
			continue;
		for (k = 0; k < at->n; k++)
			dep_path_passed(p, at, k)->count += hot->count;
		if (p->counts)
			err = count_paths(p, at, hot->count);
		hot->count = 0;
	}
	for (i = 0; p->counts && i < p->function.n && !err; i++)
		err = count_numbers(p, i);
	return err;
}
