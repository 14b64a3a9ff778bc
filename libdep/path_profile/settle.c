// SPDX-License-Identifier: LGPL-2.1-or-later
/* The end of a pass: what was counted by stretches becomes counts of transitions and paths. */
#include "pass.h"

/** struct sums - the sums of a stretch; that of its beginning is not known */
struct sums {
	struct dep_path_pass *p;
	u32 function;
	u64 count, sum;
	bool known;
};

/* Count the paths that @e ends, but for one that began before the stretch. */
static int count_ends(struct sums *s, const struct dep_path_effect *e)
{
	int err = 0;
	u32 i;

	if (!e->ends) {
		s->sum += e->add;
		return 0;
	}
	if (s->known)
		err = dep_path_count(s->p, s->function, DEP_PATH_NO, s->sum + e->add, s->count);
	for (i = 1; i < e->ends && !err; i++)
		err = dep_path_count(s->p, s->function, DEP_PATH_NO,
				     *DEP_PATH_ROW(u64, s->p->middle, e->middle + i - 1),
				     s->count);
	s->sum = e->base;
	s->known = true;
	return err;
}

static int count_paths(struct dep_path_pass *p, const struct dep_path_stretch *at, u64 count)
{
	struct sums s = { .p = p, .function = at->function, .count = count };
	int err = 0;
	u32 i;

	if (!dep_path_fn_at(p, at->function)->numbered)
		return 0;
	if (at->from == DEP_PATH_NO)
		err = count_ends(&s, &dep_path_node_at(p, at->first)->begin);
	for (i = 0; i < at->n && !err; i++)
		err = count_ends(&s, &dep_path_passed(p, at, i)->effect);
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
			err = dep_path_count(p, function, DEP_PATH_NO, i, f->count[i]);
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
