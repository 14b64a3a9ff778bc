// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query paths: the paths that functions executed, the hottest first. */
#include <dep/path_profile.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "query.h"

#define SHOWN		12u		/* blocks of a row in text */
#define SHOWN_LEAST	2u		/* of a path in a sequence */

static const char *const kinds[] = { "path", "partial", "loop" };

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "instructions", "insns", ROW_COUNT },
	{ "executions", "count", ROW_COUNT },
	{ "path_instructions", "each", ROW_COUNT },
	{ "blocks", "blocks", ROW_COUNT },
	{ "kind", "kind", ROW_TEXT },
	{ "function", "function", ROW_TEXT },
	{ "path", "blocks at", ROW_TEXT },
};

static const struct row_column columns_sequence[] = {
	{ "share", "share", ROW_SHARE },
	{ "instructions", "insns", ROW_COUNT },
	{ "executions", "count", ROW_COUNT },
	{ "path_instructions", "each", ROW_COUNT },
	{ "blocks", "blocks", ROW_COUNT },
	{ "kind", "kind", ROW_TEXT },
	{ "function", "function", ROW_TEXT },
	{ "sequence", "paths", ROW_TEXT },
	{ "path", "blocks at", ROW_TEXT },
};

/* Columns of JSON and CSV. */
static const struct row_column columns_full[] = {
	{ "share", "", ROW_SHARE },
	{ "instructions", "", ROW_COUNT },
	{ "executions", "", ROW_COUNT },
	{ "path_instructions", "", ROW_COUNT },
	{ "blocks", "", ROW_COUNT },
	{ "kind", "", ROW_TEXT },
	{ "process", "", ROW_COUNT },
	{ "number", "", ROW_COUNT },
	{ "path", "", ROW_TEXT },
	{ "next", "", ROW_TEXT },
	{ "at", "", ROW_SITE },
};

static const struct row_column columns_sequence_full[] = {
	{ "share", "", ROW_SHARE },
	{ "instructions", "", ROW_COUNT },
	{ "executions", "", ROW_COUNT },
	{ "path_instructions", "", ROW_COUNT },
	{ "blocks", "", ROW_COUNT },
	{ "kind", "", ROW_TEXT },
	{ "process", "", ROW_COUNT },
	{ "number", "", ROW_COUNT },
	{ "sequence", "", ROW_TEXT },
	{ "path", "", ROW_TEXT },
	{ "next", "", ROW_TEXT },
	{ "at", "", ROW_SITE },
};

static bool has_sequences(const struct query *q)
{
	return q->o.iterations > 1;
}

static uint64_t insns_of(const struct dep_path_row *r)
{
	return r->count * r->insns;
}

static int by_insns(const void *pa, const void *pb, void *arg)
{
	const struct dep_path_row *row = arg;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;

	if (insns_of(row + a) != insns_of(row + b))
		return insns_of(row + a) > insns_of(row + b) ? -1 : 1;
	return a < b ? -1 : a > b;
}

static struct site site_of(const struct query *q, const struct dep_path_row *r)
{
	return functions_site(q->v.f, r->process, r->image, r->pc);
}

/* A loop of one block ends no path, so it is not part of a sequence. */
static int put_numbers(struct query *q, const struct dep_path_profile *p, size_t i)
{
	char *numbers;

	if (p->row[i].kind == DEP_PATH_ROW_LOOP) {
		row_text(&q->rows, NULL);
		return 0;
	}
	numbers = path_numbers(p, i);
	if (!numbers)
		return -ENOMEM;
	row_text(&q->rows, numbers);
	free(numbers);
	return 0;
}

/* Blocks to print of each path. */
static size_t shown(const struct query *q, const struct dep_path_row *r)
{
	size_t n = SHOWN / (r->before + 1);

	if (q->o.form != PROFILE_TEXT)
		return SIZE_MAX;
	return n < SHOWN_LEAST ? SHOWN_LEAST : n;
}

/* Addresses of blocks: relative to the function in text, or else those of the process. */
static int put_path(struct query *q, const struct dep_path_profile *p, size_t i)
{
	int err = has_sequences(q) ? put_numbers(q, p, i) : 0;
	char *path;

	if (err)
		return err;
	path = path_text(p, i, shown(q, p->row + i), q->o.form == PROFILE_TEXT);
	if (!path)
		return -ENOMEM;
	row_text(&q->rows, path);
	free(path);
	return 0;
}

static int put_row(struct query *q, const struct dep_path_profile *p, size_t i)
{
	const struct dep_path_row *r = p->row + i;
	struct site site = site_of(q, r);
	char name[NAME_TEXT], next[32];
	int err;

	row_share(&q->rows, insns_of(r), p->insns);
	row_count(&q->rows, insns_of(r));
	row_count(&q->rows, r->count);
	row_count(&q->rows, r->insns);
	row_count(&q->rows, r->blocks);
	row_text(&q->rows, kinds[r->kind]);
	if (q->o.form == PROFILE_TEXT) {
		name_code(&q->v, site, name);
		row_text(&q->rows, name);
		return put_path(q, p, i);
	}
	row_count(&q->rows, r->process);
	row_count(&q->rows, r->number);
	err = put_path(q, p, i);
	if (err)
		return err;
	snprintf(next, sizeof(next), "%" PRIx64, r->next);
	row_text(&q->rows, r->next ? next : NULL);
	row_site(&q->rows, site);
	return 0;
}

static bool wanted(const struct query *q, const struct dep_path_profile *p, size_t i)
{
	const struct dep_path_row *r = p->row + i;

	if ((double)insns_of(r) < q->o.min * (double)p->insns)
		return false;
	return !q->o.function || profile_matches(&q->v, functions_in(q->v.f, site_of(q, r)));
}

static int print(struct query *q, const struct dep_path_profile *p)
{
	size_t *order = calloc(p->nrows + 1, sizeof(*order)), i, n = 0;
	int err = order ? 0 : -ENOMEM;

	for (i = 0; i < p->nrows && !err; i++)
		if (wanted(q, p, i))
			order[n++] = i;
	if (!err)
		qsort_r(order, n, sizeof(*order), by_insns, (void *)p->row);
	n = query_rows(q, n);
	for (i = 0; i < n && !err; i++)
		err = put_row(q, p, order[i]);
	free(order);
	return err;
}

static int run(struct query *q)
{
	struct dep_path_profile *p = NULL;
	int err = profile_paths(&q->v, &p);

	if (err)
		return err;
	if (!q->o.table)
		err = print(q, p);
	else if (!strcmp(q->o.table, "coverage"))
		err = paths_coverage(q, p);
	else if (q->o.against)
		err = paths_common_table(q, p);
	else
		err = paths_table(q, p);
	dep_path_profile_free(p);
	return err;
}

static struct row_columns columns_of(const struct query *q)
{
	if (q->o.table && !strcmp(q->o.table, "coverage"))
		return paths_coverage_columns();
	if (q->o.against)
		return paths_common_columns(q);
	if (q->o.table)
		return paths_table_columns(q);
	if (q->o.form == PROFILE_TEXT)
		return has_sequences(q) ? ROW_COLUMNS(columns_sequence) : ROW_COLUMNS(columns);
	return has_sequences(q) ? ROW_COLUMNS(columns_sequence_full) : ROW_COLUMNS(columns_full);
}

static const struct argp_option options[] = {
	{ "min", OPT_MIN, "SHARE", 0, "Leave out paths with less than SHARE of all instructions "
	  "(default: 0.1%)", 1 },
	{ "iterations", OPT_ITERATIONS, "K", 0, "Count each path together with the up to K - 1 "
	  "paths that were executed right in front of it, in the same call of its function", 1 },
	{ "table", OPT_TABLE, "TABLE", 0, "Instead of the paths, print: paths: how many there are, "
	  "how long they are, and what counts of edges predict of them; coverage: the part of the "
	  "potential paths of each function that was executed, in all STOREs "
	  "together; common: how many of the paths --against has, too", 1 },
	{ "against", OPT_AGAINST, "STORE", 0, "With --table=common: the recording to compare with",
	  1 },
	PROFILE_MEMORY("stacks, graphs and counters"),
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print the paths through functions that were executed, those with most instructions "
	       "first.",
	.options = options, .run = run, .columns = columns_of, .needs = VIEW_NO_LIVE,
	.tables = "paths coverage common", .many = true,
};

int query_paths(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
