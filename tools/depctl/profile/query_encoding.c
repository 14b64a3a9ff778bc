// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query contexts --table=encoding: what encoding the contexts of a recording needs, as in
 * table 1 of the paper on DACCE.
 *
 * Text has a line for each figure, JSON and CSV one row with all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <dep/contexts.h>

#include "tools/depctl/depctl.h"
#include "query.h"

/* In the order of the figures below. */
static const struct row_column columns[] = {
	{ "nodes", "functions", ROW_COUNT },
	{ "edges", "edges: a call site with one of its callees", ROW_COUNT },
	{ "indirect_sites", "sites of indirect calls", ROW_COUNT },
	{ "wide_sites", "of these, with more than 4 callees", ROW_COUNT },
	{ "max_id", "maxID: the largest number of a context", ROW_COUNT },
	{ "encodings", "re-encodings (gTS)", ROW_COUNT },
	{ "calls", "calls, tail calls and signal handlers", ROW_COUNT },
	{ "pushes", "of these, calls that pushed an entry on the ccStack", ROW_COUNT },
	{ "fresh", "of these, by edges that were newer than the encoding", ROW_COUNT },
	{ "recursive", "of these, by back edges", ROW_COUNT },
	{ "saves", "calls that saved the number", ROW_COUNT },
	{ "tail_loops", "tail calls that closed a loop", ROW_COUNT },
	{ "mean_depth", "mean height of the ccStack", ROW_RATIO },
	{ "mean_compressed", "the same with repeated entries as one", ROW_RATIO },
	{ "pcce_back", "PCCE: recursive edges", ROW_COUNT },
	{ "pcce_pushes", "PCCE: calls that pushed an entry", ROW_COUNT },
	{ "pcce_max_id", "PCCE: maxID", ROW_TEXT },
};

#define FIGURES	(sizeof(columns) / sizeof(*columns))

static const struct row_column columns_text[] = {
	{ "value", "value", ROW_COUNT },
	{ "what", "figure", ROW_TEXT },
};

struct row_columns encoding_columns(const struct query *q)
{
	if (q->o.form == PROFILE_TEXT)
		return ROW_COLUMNS(columns_text);
	return ROW_COLUMNS(columns);
}

static void put_figure(struct rows *r, const struct dep_context_check *c, size_t i)
{
	const uint64_t counts[FIGURES] = {
		c->nodes, c->edges, c->indirect_sites, c->wide_sites, c->max_id, c->encodings,
		c->calls, c->pushes, c->fresh, c->recursive, c->saves, c->loops, c->depth,
		c->compressed, c->pcce_back, c->pcce_pushes, c->pcce_max_id,
	};
	char text[32] = "more than 64 bits";

	if (columns[i].kind == ROW_RATIO) {
		row_ratio(r, counts[i], c->calls);
	} else if (columns[i].kind == ROW_TEXT) {
		if (counts[i] != UINT64_MAX)
			snprintf(text, sizeof(text), "%llu", (unsigned long long)counts[i]);
		row_text(r, text);
	} else {
		row_count(r, counts[i]);
	}
}

int encoding_run(struct query *q)
{
	const struct dep_context_check_options options = { .jobs = q->o.jobs };
	/* What could not be read makes the table incomplete, as it does the tree. */
	struct dep_contexts *c = calloc(1, sizeof(*c));
	struct dep_context_check check;
	size_t i;
	int err;

	if (!c)
		return -ENOMEM;
	q->v.c = c;
	err = dep_contexts_check(q->v.store, q->v.code, &options, &check);
	if (err)
		return profile_failed(&q->v, err);
	c->loss = check.loss;
	for (i = 0; i < FIGURES; i++) {
		put_figure(&q->rows, &check, i);
		if (q->o.form == PROFILE_TEXT)
			row_text(&q->rows, columns[i].heading);
	}
	return 0;
}
