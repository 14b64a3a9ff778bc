// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query blocks: the executed basic blocks. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

/* A block of the whole recording, with the counts of all time or of an interval. */
struct ranked {
	size_t first, n;		/* instructions, in whole.m */
	uint64_t count, insns, bytes;
};

/** struct whole - the instructions and blocks of the whole recording */
struct whole {
	struct merged m;
	struct blocks b;
};

static int by_insns(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "executions", "count", ROW_COUNT },
	{ "block_instructions", "insns", ROW_COUNT },
	{ "block_bytes", "bytes", ROW_COUNT },
	{ "at", "block", ROW_SITE },
};

/* Add the instructions of @m, some or all of those of @w, to their blocks; both are sorted. */
static void count(struct ranked *r, const struct whole *w, const struct merged *m)
{
	size_t i, k = 0, at = 0;

	for (i = 0; i < m->ninsns; i++) {
		while (k + 1 < w->m.ninsns && site_compare(w->m.insn[k].at, m->insn[i].at) < 0)
			k++;
		while (at + 1 < w->b.n && w->b.block[at + 1].first <= k)
			at++;
		r[at].insns += m->insn[i].count;
		if (k == w->b.block[at].first)
			r[at].count = m->insn[i].count;
	}
}

/* Move those that are wanted to the front of @r, which has all blocks of @w; return how many. */
static size_t choose(const struct query *q, const struct whole *w, struct ranked *r)
{
	const struct insn_row *insn;
	size_t i, k, n = 0;

	for (i = 0; i < w->b.n; i++) {
		r[i].first = w->b.block[i].first;
		r[i].n = w->b.block[i].n;
		insn = &w->m.insn[r[i].first];
		if (q->o.per_ns && !r[i].insns)
			continue;
		if (q->o.function && !profile_matches(&q->v, functions_in(q->v.f, insn->at)))
			continue;
		for (k = 0; k < r[i].n; k++)
			r[i].bytes += insn[k].size;
		r[n++] = r[i];
	}
	return n;
}

static void print(struct query *q, const struct whole *w, const struct ranked *r, size_t n)
{
	size_t i;

	n = query_rows(q, n);
	for (i = 0; i < n; i++) {
		row_share(&q->rows, r[i].insns, q->p->insns);
		row_count(&q->rows, r[i].count);
		row_count(&q->rows, r[i].n);
		row_count(&q->rows, r[i].bytes);
		row_site(&q->rows, w->m.insn[r[i].first].at);
	}
}

static struct row_columns columns_of(const struct query *q)
{
	(void)q;
	return ROW_COLUMNS(columns);
}

static int begin(struct query *q)
{
	struct whole *w = calloc(1, sizeof(*w));
	int err;

	q->whole = w;
	if (!w)
		return -ENOMEM;
	err = merged_make(&w->m, &q->v, q->v.p);
	return err ? err : blocks_make(&w->b, &w->m);
}

static void end(struct query *q)
{
	struct whole *w = q->whole;

	if (w) {
		blocks_free(&w->b);
		merged_free(&w->m);
	}
	free(w);
}

static int run(struct query *q)
{
	const struct whole *w = q->whole;
	struct ranked *r = calloc(w->b.n + 1, sizeof(*r));
	struct merged part = { 0 };
	int err = r ? 0 : -ENOMEM;
	size_t n;

	if (!err && q->p != q->v.p)
		err = merged_make(&part, &q->v, q->p);
	if (!err) {
		count(r, w, q->p == q->v.p ? &w->m : &part);
		n = choose(q, w, r);
		qsort(r, n, sizeof(*r), by_insns);
		print(q, w, r, n);
	}
	merged_free(&part);
	free(r);
	return err;
}

static const struct argp_option options[] = {
	QUERY_PER,
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print the executed basic blocks, those that executed most instructions first.",
	.options = options, .run = run, .columns = columns_of, .begin = begin, .end = end,
};

int query_blocks(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
