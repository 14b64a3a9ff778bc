// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query methods: the executed functions. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

struct ranked {
	uint32_t i;
	uint64_t insns;
};

static int by_insns(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "instructions", "insns", ROW_COUNT },
	{ "calls", "calls", ROW_COUNT },
	{ "instructions_per_call", "insns/call", ROW_RATIO },
	{ "references", "refs", ROW_COUNT },
	{ "at", "function", ROW_SITE },
};

static const struct row_column columns_inclusive[] = {
	{ "share", "share", ROW_SHARE },
	{ "instructions", "insns", ROW_COUNT },
	{ "inclusive_share", "incl", ROW_SHARE },
	{ "inclusive_instructions", "incl insns", ROW_COUNT },
	{ "calls", "calls", ROW_COUNT },
	{ "instructions_per_call", "insns/call", ROW_RATIO },
	{ "references", "refs", ROW_COUNT },
	{ "at", "function", ROW_SITE },
};

static struct row_columns columns_of(const struct query *q)
{
	if (q->o.inclusive)
		return ROW_COLUMNS(columns_inclusive);
	return ROW_COLUMNS(columns);
}

static void put_row(struct query *q, uint32_t i, const struct function *f,
		    const struct function_count *c)
{
	uint64_t all = q->p->insns;

	row_share(&q->rows, c->insns, all);
	row_count(&q->rows, c->insns);
	if (q->o.inclusive) {
		row_share(&q->rows, f->inclusive, all);
		row_count(&q->rows, f->inclusive);
	}
	row_count(&q->rows, c->calls);
	row_ratio(&q->rows, c->insns, c->calls);
	row_count(&q->rows, c->refs);
	row_site(&q->rows, functions_start(q->v.f, i));
}

/* The counts of all functions in q->p. */
static struct function_count *count(const struct query *q)
{
	const struct function *f;
	size_t n = functions_all(q->v.f, &f), i;
	struct function_count *c = calloc(n + 1, sizeof(*c));

	if (c && q->o.per_ns)
		functions_count(q->v.f, q->p, c);
	for (i = 0; c && !q->o.per_ns && i < n; i++)
		c[i] = (struct function_count){ f[i].insns, f[i].refs, f[i].calls };
	return c;
}

/* A call at the end of an interval can be all that it has of a function. */
static bool is_there(const struct query *q, const struct function_count *c)
{
	return !q->o.per_ns || c->insns || c->calls;
}

static int run(struct query *q)
{
	const struct function *f;
	size_t all = functions_all(q->v.f, &f), n = 0, i;
	struct ranked *r = calloc(all + 1, sizeof(*r));
	struct function_count *c = count(q);
	int err = r && c ? 0 : -ENOMEM;

	for (i = 0; !err && i < all; i++)
		if (is_there(q, &c[i]) && profile_matches(&q->v, (uint32_t)i))
			r[n++] = (struct ranked){ (uint32_t)i, q->o.inclusive ? f[i].inclusive :
						  c[i].insns };
	if (!err) {
		qsort(r, n, sizeof(*r), by_insns);
		n = query_rows(q, n);
		for (i = 0; i < n; i++)
			put_row(q, r[i].i, &f[r[i].i], &c[r[i].i]);
	}
	free(r);
	free(c);
	return err;
}

static const struct argp_option options[] = {
	{ "inclusive", OPT_INCLUSIVE, NULL, 0, "Also print, and sort by, the instructions of each "
	  "function and all that it called", 1 },
	QUERY_PER,
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print the executed functions, those that executed most instructions first.",
	.options = options, .run = run, .columns = columns_of,
};

int query_methods(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
