// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query edges: how often control went from each branch to each target. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

static int by_count(const void *pa, const void *pb)
{
	const struct edge_row *a = pa, *b = pb;
	int d;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	d = site_compare(a->from, b->from);
	if (!d)
		d = site_compare(a->to, b->to);
	if (!d)
		d = (int)a->kind - b->kind;
	return d ? d : (int)a->taken - b->taken;
}

static const struct row_column columns[] = {
	{ "executions", "count", ROW_COUNT },
	{ "branch", "kind", ROW_TEXT },
	{ "from", "from", ROW_SITE },
	{ "to", "to", ROW_SITE },
};

static const char *name_of(const struct edge_row *e)
{
	if (e->kind == DEP_BRANCH_COND)
		return e->taken ? "taken" : "not-taken";
	return edge_kind_name(e->kind);
}

/* Keep the edges of the functions that were asked for; return their number. */
static size_t choose(struct query *q, struct merged *m)
{
	const struct functions *f = q->v.f;
	size_t i, n = 0;

	for (i = 0; i < m->nedges; i++)
		if (!q->o.function || profile_matches(&q->v, functions_in(f, m->edge[i].from)) ||
		    profile_matches(&q->v, functions_in(f, m->edge[i].to)))
			m->edge[n++] = m->edge[i];
	return n;
}

static void print(struct query *q, struct merged *m)
{
	size_t n = choose(q, m), i;

	qsort(m->edge, n, sizeof(*m->edge), by_count);
	n = query_rows(q, n);
	for (i = 0; i < n; i++) {
		row_count(&q->rows, m->edge[i].count);
		row_text(&q->rows, name_of(&m->edge[i]));
		row_site(&q->rows, m->edge[i].from);
		row_site(&q->rows, m->edge[i].to);
	}
}

static struct row_columns columns_of(const struct query *q)
{
	struct row_columns none = { 0 };

	if (q->o.annotate)
		return none;
	return ROW_COLUMNS(columns);
}

static int run(struct query *q)
{
	struct merged m;
	int err;

	if (q->o.annotate)
		return annotate(q, q->o.annotate);
	err = merged_make(&m, &q->v, q->p);
	if (!err)
		print(q, &m);
	merged_free(&m);
	return err;
}

static const struct argp_option options[] = {
	{ "annotate", OPT_ANNOTATE, "FUNCTION", 0, "Print the source and the instructions of "
	  "FUNCTION (a pattern) with the number of times that each was executed", 1 },
	QUERY_PER,
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print how often control went from each branch to each of its targets.",
	.options = options, .run = run, .columns = columns_of,
};

int query_edges(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
