// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query blocks: the executed basic blocks. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

/* A block with its instructions in total. */
struct ranked {
	struct block b;
	uint64_t insns, bytes;
};

static int by_insns(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->b.first < b->b.first ? -1 : a->b.first > b->b.first;
}

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "executions", "count", ROW_COUNT },
	{ "block_instructions", "insns", ROW_COUNT },
	{ "block_bytes", "bytes", ROW_COUNT },
	{ "at", "block", ROW_SITE },
};

static size_t choose(const struct query *q, const struct merged *m, const struct blocks *b,
		     struct ranked *out)
{
	const struct insn_row *r;
	size_t i, k, n = 0;

	for (i = 0; i < b->n; i++) {
		r = &m->insn[b->block[i].first];
		if (q->o.function && !profile_matches(&q->v, functions_in(q->v.f, r->at)))
			continue;
		out[n] = (struct ranked){ .b = b->block[i] };
		for (k = 0; k < b->block[i].n; k++) {
			out[n].insns += r[k].count;
			out[n].bytes += r[k].size;
		}
		n++;
	}
	return n;
}

static int print(struct query *q, const struct merged *m, const struct blocks *b)
{
	struct ranked *r = calloc(b->n + 1, sizeof(*r));
	size_t i, n;

	if (!r)
		return -ENOMEM;
	n = choose(q, m, b, r);
	qsort(r, n, sizeof(*r), by_insns);
	n = query_rows(q, n);
	for (i = 0; i < n; i++) {
		row_share(&q->rows, r[i].insns, q->v.p->insns);
		row_count(&q->rows, r[i].b.count);
		row_count(&q->rows, r[i].b.n);
		row_count(&q->rows, r[i].bytes);
		row_site(&q->rows, m->insn[r[i].b.first].at);
	}
	free(r);
	return 0;
}

static struct row_columns columns_of(const struct query *q)
{
	(void)q;
	return ROW_COLUMNS(columns);
}

static int run(struct query *q)
{
	struct blocks b = { 0 };
	struct merged m;
	int err = merged_make(&m, &q->v, q->v.p);

	if (!err)
		err = blocks_make(&b, &m);
	if (!err)
		err = print(q, &m, &b);
	blocks_free(&b);
	merged_free(&m);
	return err;
}

static const struct query_kind kind = {
	.doc = "Print the executed basic blocks, those that executed most instructions first.",
	.run = run, .columns = columns_of,
};

int query_blocks(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
