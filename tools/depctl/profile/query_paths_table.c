// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query paths --table=paths: how many paths there are, how long they are, and what counts of
 * edges predict of them, as in the tables of Ball and Larus.
 */
#include <dep/path_profile.h>

#include "query.h"

/* In the order of the figures below. */
static const struct row_column columns[] = {
	{ "path_functions", "functions that executed paths", ROW_COUNT },
	{ "truncated", "of these, with too many potential paths to number them all", ROW_COUNT },
	{ "paths", "paths that were executed", ROW_COUNT },
	{ "potential", "potential paths over executed edges", ROW_TEXT },
	{ "paths_per_function", "executed paths per function", ROW_RATIO },
	{ "executions", "executions of paths", ROW_COUNT },
	{ "mean_edges", "edges of an executed path, mean of all executions", ROW_RATIO },
	{ "mean_instructions", "instructions of it", ROW_RATIO },
	{ "longest_edges", "edges of the longest path", ROW_COUNT },
	{ "longest_instructions", "most instructions of a path", ROW_COUNT },
	{ "predicted_functions", "functions whose paths are all predicted by their edges",
	  ROW_COUNT },
	{ "predicted_paths", "paths that are predicted by edges", ROW_SHARE },
	{ "predicted_executions", "executions of these", ROW_SHARE },
	{ "predicted_edges", "edges up to the first wrong one, mean of all executions",
	  ROW_RATIO },
	{ "predicted_instructions", "instructions up to there", ROW_RATIO },
};

#define FIGURES	(sizeof(columns) / sizeof(*columns))

struct row_columns paths_table_columns(const struct query *q)
{
	return figures_columns(q, ROW_COLUMNS(columns));
}

static void put(struct query *q, const struct dep_path_table *t)
{
	char potential[32] = "more than 64 bits";
	const struct figure figures[FIGURES] = {
		FIGURE(t->functions), FIGURE(t->truncated), FIGURE(t->paths),
		{ .text = potential }, FIGURE_RATIO(t->paths, t->functions),
		FIGURE(t->executions), FIGURE_RATIO(t->executed.edges, t->executions),
		FIGURE_RATIO(t->executed.insns, t->executions),
		FIGURE(t->executed.longest_edges), FIGURE(t->executed.longest_insns),
		FIGURE(t->all_predicted), FIGURE_RATIO(t->predicted_paths, t->paths),
		FIGURE_RATIO(t->predicted_executions, t->executions),
		FIGURE_RATIO(t->predicted.edges, t->executions),
		FIGURE_RATIO(t->predicted.insns, t->executions),
	};

	if (t->potential != UINT64_MAX)
		snprintf(potential, sizeof(potential), "%llu", (unsigned long long)t->potential);
	figures_put(q, columns, figures, FIGURES);
}

int paths_table(struct query *q, const struct dep_path_profile *p)
{
	struct dep_path_table t;
	int err = dep_path_profile_table(p, &t);

	if (!err)
		put(q, &t);
	return err;
}
