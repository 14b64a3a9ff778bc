// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query contexts --table=encoding: what encoding the contexts of a recording needs, as in
 * table 1 of the paper on DACCE.
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
	{ "gone", "of these, unmapped or replaced", ROW_COUNT },
	{ "edges", "edges: a call site with one of its callees", ROW_COUNT },
	{ "indirect_sites", "sites of indirect calls", ROW_COUNT },
	{ "wide_sites", "of these, with more than 4 callees", ROW_COUNT },
	{ "max_id", "maxID: the largest number of a context", ROW_TEXT },
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

struct row_columns encoding_columns(const struct query *q)
{
	return figures_columns(q, ROW_COLUMNS(columns));
}

#define DIGITS	40	/* of 128 bits, and the end */

/* The digits of an id.  Readers of JSON can round numbers of more than 53 bits. */
static const char *id_text(char text[DIGITS], uint64_t high, uint64_t low)
{
	unsigned __int128 id = (unsigned __int128)high << 64 | low;
	char *at = text + DIGITS - 1;

	*at = '\0';
	do
		*--at = (char)('0' + id % 10);
	while (id /= 10);
	return at;
}

static void put(struct query *q, const struct dep_context_check *c)
{
	char max_id[DIGITS], pcce_max_id[DIGITS];
	const struct figure figures[FIGURES] = {
		FIGURE(c->nodes), FIGURE(c->gone), FIGURE(c->edges), FIGURE(c->indirect_sites),
		FIGURE(c->wide_sites), { .text = id_text(max_id, 0, c->max_id) },
		FIGURE(c->encodings), FIGURE(c->calls),
		FIGURE(c->pushes), FIGURE(c->fresh), FIGURE(c->recursive), FIGURE(c->saves),
		FIGURE(c->loops), FIGURE_RATIO(c->depth, c->calls),
		FIGURE_RATIO(c->compressed, c->calls), FIGURE(c->pcce_back),
		FIGURE(c->pcce_pushes),
		{ .text = id_text(pcce_max_id, c->pcce_max_id_high, c->pcce_max_id) },
	};

	figures_put(q, columns, figures, FIGURES);
}

int encoding_run(struct query *q)
{
	const struct dep_context_check_options options = {
		.jobs = q->o.jobs, .memory = q->o.memory,
	};
	/* What could not be read makes the table incomplete, as it does the tree. */
	struct dep_contexts *c = calloc(1, sizeof(*c));
	struct dep_context_check check;
	int err;

	if (!c)
		return -ENOMEM;
	q->v.c = c;
	err = dep_contexts_check(q->v.store, q->v.code, &options, &check);
	if (err)
		return profile_failed(&q->v, err);
	c->loss = check.loss;
	put(q, &check);
	return 0;
}
