// SPDX-License-Identifier: LGPL-2.1-or-later
/* dep_path_profile_table(): executed paths, and what counts of edges predict. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/paths/predict.h"
#include "pass.h"

static u64 plus(u64 a, u64 b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* How often each edge was executed on paths.  Self loops are no candidates. */
static int count_edges(const struct dep_path_fn *f, const struct dep_path_row *row, size_t n,
		       u64 *count)
{
	int err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		if (row[i].kind == DEP_PATH_ROW_WHOLE)
			err = dep_path_count_edges(&f->paths, row[i].number, row[i].count, count,
						   NULL);
		else if (row[i].kind == DEP_PATH_ROW_PARTIAL)
			err = dep_path_count_partial(&f->paths, row[i].number, row[i].block,
						     row[i].count, count, NULL);
	}
	return err;
}

static int compare(const struct dep_path_fn *f, const struct dep_path_row *row, size_t n,
		   struct dep_path_prediction *sum)
{
	u64 *count = calloc(f->graph.edges + 1ull, sizeof(*count));
	u32 *likely = calloc(f->graph.vertices + 1ull, sizeof(*likely));
	int err = count && likely ? count_edges(f, row, n, count) : -ENOMEM;
	size_t i;

	if (!err)
		dep_path_likely_edges(&f->paths, count, likely);
	for (i = 0; i < n && !err; i++)
		if (row[i].kind == DEP_PATH_ROW_WHOLE)
			err = dep_path_compare(&f->paths, likely, row[i].number, row[i].count,
					       sum);
	free(count);
	free(likely);
	return err;
}

static u64 least(u128 n)
{
	return n > UINT64_MAX ? UINT64_MAX : (u64)n;
}

static void add_lengths(struct dep_path_sums *to, const struct dep_path_lengths *from)
{
	to->edges = plus(to->edges, least(from->edges));
	to->insns = plus(to->insns, least(from->insns));
	if (from->longest_edges > to->longest_edges)
		to->longest_edges = from->longest_edges;
	if (from->longest_insns > to->longest_insns)
		to->longest_insns = from->longest_insns;
}

static void add(struct dep_path_table *out, const struct dep_path_function *f,
		const struct dep_path_prediction *sum)
{
	if (!sum->paths)
		return;
	out->functions++;
	out->all_predicted += sum->whole == sum->paths;
	out->truncated += f->truncated;
	out->potential = plus(out->potential, f->potential);
	out->paths += sum->paths;
	out->executions = plus(out->executions, sum->executions);
	out->predicted_paths += sum->whole;
	out->predicted_executions = plus(out->predicted_executions, sum->whole_executions);
	add_lengths(&out->executed, &sum->executed);
	add_lengths(&out->predicted, &sum->predicted);
}

/* The rows of a function stand together, since they are sorted by process and address. */
int dep_path_profile_table(const struct dep_path_profile *p, struct dep_path_table *out)
{
	const struct dep_path_pass *pass = p->own;
	struct dep_path_prediction sum;
	size_t i, n;
	u32 at;
	int err;

	*out = (struct dep_path_table){ 0 };
	if (pass->iterations > 1)
		return dep_fail(-EINVAL, "a table of sequences");
	for (i = 0; i < p->nrows; i += n) {
		at = p->row[i].function;
		for (n = 1; i + n < p->nrows && p->row[i + n].function == at; n++)
			;
		sum = (struct dep_path_prediction){ 0 };
		err = compare(dep_path_fn_at(pass, at), p->row + i, n, &sum);
		if (err)
			return dep_fail(err, "paths");
		add(out, &p->function[at], &sum);
	}
	return 0;
}
