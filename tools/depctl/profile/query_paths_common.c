// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query paths --table=common --against STORE: which paths two recordings have in common, as
 * the paper compares those of train and reference inputs.
 */
#include "tools/depctl/diff/paths_common.h"
#include "query.h"

/* In the order of the figures below. */
static const struct row_column columns[] = {
	{ "path_functions", "functions that executed paths in either recording", ROW_COUNT },
	{ "common_functions", "of these, in both", ROW_COUNT },
	{ "changed_functions", "of these, with other code", ROW_COUNT },
	{ "common_paths", "paths that both executed", ROW_COUNT },
	{ "paths", "paths that STORE executed", ROW_COUNT },
	{ "common_share", "of these, those that both did", ROW_SHARE },
	{ "common_executions", "of its executions of paths, those of common ones", ROW_SHARE },
	{ "common_instructions", "of its instructions on paths", ROW_SHARE },
	{ "other_paths", "paths that the other recording executed", ROW_COUNT },
	{ "other_common_share", "of these, those that both did", ROW_SHARE },
	{ "other_common_executions", "of its executions of paths, those of common ones",
	  ROW_SHARE },
	{ "other_common_instructions", "of its instructions on paths", ROW_SHARE },
};

#define FIGURES	(sizeof(columns) / sizeof(*columns))

struct row_columns paths_common_columns(const struct query *q)
{
	return figures_columns(q, ROW_COLUMNS(columns));
}

static void put(struct query *q, const struct common_paths *c)
{
	const struct common_sums *all = c->all, *both = c->common;
	const struct figure figures[FIGURES] = {
		FIGURE(c->functions), FIGURE(c->of_both), FIGURE(c->changed),
		FIGURE(both[0].paths), FIGURE(all[0].paths),
		FIGURE_RATIO(both[0].paths, all[0].paths),
		FIGURE_RATIO(both[0].executions, all[0].executions),
		FIGURE_RATIO(both[0].insns, all[0].insns),
		FIGURE(all[1].paths), FIGURE_RATIO(both[1].paths, all[1].paths),
		FIGURE_RATIO(both[1].executions, all[1].executions),
		FIGURE_RATIO(both[1].insns, all[1].insns),
	};

	figures_put(q, columns, figures, FIGURES);
}

static struct common_side side_of(const struct profile_view *v, const struct dep_path_profile *p)
{
	return (struct common_side){
		.store = v->store, .symbols = v->symbols, .code = v->code, .profile = v->own,
		.functions = v->f, .paths = p,
	};
}

int paths_common_table(struct query *q, const struct dep_path_profile *p)
{
	struct profile_options o = q->o;
	struct dep_path_profile *other = NULL;
	struct common_paths common;
	struct common_side side[2];
	struct profile_view v;
	int status;

	o.path = o.against;
	status = profile_open(&v, &o, 0);
	if (!status)
		status = profile_paths(&v, &other);
	if (!status) {
		side[0] = side_of(&q->v, p);
		side[1] = side_of(&v, other);
		status = paths_common(side, &common);
	}
	if (!status) {
		put(q, &common);
		profile_add_reasons(&v, &q->more);
		q->lacks = profile_status(&v);
	}
	dep_path_profile_free(other);
	profile_close(&v);
	return status;
}
