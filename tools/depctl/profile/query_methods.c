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

static void put_row(struct query *q, uint32_t i, const struct function *f)
{
	uint64_t all = q->v.p->insns;

	row_share(&q->rows, f->insns, all);
	row_count(&q->rows, f->insns);
	if (q->o.inclusive) {
		row_share(&q->rows, f->inclusive, all);
		row_count(&q->rows, f->inclusive);
	}
	row_count(&q->rows, f->calls);
	row_ratio(&q->rows, f->insns, f->calls);
	row_count(&q->rows, f->refs);
	row_site(&q->rows, functions_start(q->v.f, i));
}

static int begin(struct query *q)
{
	if (q->o.inclusive)
		return rows_begin(&q->rows, &q->v, &q->out, columns_inclusive,
				  sizeof(columns_inclusive) / sizeof(*columns_inclusive));
	return rows_begin(&q->rows, &q->v, &q->out, columns, sizeof(columns) / sizeof(*columns));
}

static int run(struct query *q)
{
	const struct function *f;
	size_t all = functions_all(q->v.f, &f), n = 0, i;
	struct ranked *r = calloc(all + 1, sizeof(*r));
	int status;

	if (!r)
		return -ENOMEM;
	for (i = 0; i < all; i++)
		if (profile_matches(&q->v, (uint32_t)i))
			r[n++] = (struct ranked){ (uint32_t)i, q->o.inclusive ? f[i].inclusive :
						  f[i].insns };
	qsort(r, n, sizeof(*r), by_insns);
	n = query_rows(q, n);
	status = begin(q);
	for (i = 0; i < n && !status; i++)
		put_row(q, r[i].i, &f[r[i].i]);
	free(r);
	return status ? status : rows_end(&q->rows);
}

static const struct argp_option options[] = {
	{ "inclusive", OPT_INCLUSIVE, NULL, 0, "Also print, and sort by, the instructions of each "
	  "function and all that it called", 1 },
	{ 0 }
};

static const struct query_kind kind = {
	"Print the executed functions, those that executed most instructions first.", options, run,
	0
};

int query_methods(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
