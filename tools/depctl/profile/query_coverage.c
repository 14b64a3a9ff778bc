// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query coverage: which part of each function was executed. */
#include <errno.h>
#include <stdlib.h>

#include "query.h"

/* A function, executed or not. */
struct covered {
	struct site start;
	uint64_t size;			/* bytes of all its parts */
	uint64_t bytes, insns, blocks;	/* executed */
	uint64_t end;			/* behind the last executed byte so far */
};

struct coverage {
	struct covered *row;
	size_t n, room;
	struct covered *executed;	/* by function */
};

/** struct whole - the instructions and blocks of the whole profile */
struct whole {
	struct merged m;
	struct blocks b;
};

/* Instructions come by address.  They overlap where a jump goes behind a prefix. */
static void count_insn(struct covered *to, const struct insn_row *r)
{
	uint64_t start = r->at.addr > to->end ? r->at.addr : to->end, end = r->at.addr + r->size;

	if (!r->count)
		return;
	to->insns++;
	if (end > start)
		to->bytes += end - start;
	if (end > to->end)
		to->end = end;
}

/* The blocks are those of the whole profile, of which @m is all or an interval. */
static int count_executed(struct coverage *c, const struct query *q, const struct merged *m)
{
	const struct whole *w = q->whole;
	const struct function *f;
	size_t i, n = functions_all(q->v.f, &f);
	uint32_t fn;

	c->executed = calloc(n + 1, sizeof(*c->executed));
	if (!c->executed)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		c->executed[i].start = functions_start(q->v.f, (uint32_t)i);
		c->executed[i].size = f[i].end - f[i].start;
	}
	for (i = 0; i < m->ninsns; i++) {
		fn = functions_in(q->v.f, m->insn[i].at);
		if (fn == NO_FUNCTION)
			continue;
		c->executed[fn].blocks += blocks_at(&w->b, &w->m, m->insn[i].at) < w->b.n;
		count_insn(&c->executed[fn], &m->insn[i]);
	}
	return 0;
}

/* The sizes of the functions of a file, with their other parts; by index; the caller frees it. */
static uint64_t *sizes_of(const struct dep_file_code *code)
{
	uint64_t *size = calloc(code->nfunctions + 1, sizeof(*size));
	size_t i, whole;

	for (i = 0; size && i < code->nfunctions; i++) {
		whole = code->function[i].whole < code->nfunctions ? code->function[i].whole : i;
		size[whole] += code->function[i].end - code->function[i].start;
	}
	return size;
}

static int add(struct coverage *c, const struct covered *row)
{
	size_t room = c->room ? 2 * c->room : 256;
	struct covered *more;

	if (c->n == c->room) {
		more = reallocarray(c->row, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->row = more;
		c->room = room;
	}
	c->row[c->n++] = *row;
	return 0;
}

/*
 * Add the functions of a file: those in the file's list, and the executed ones from @i on that are
 * not in it.  Both are sorted by address.  Set @i to the first function of the next file.
 */
static int add_file(struct coverage *c, const struct query *q, uint32_t unit, size_t *i)
{
	const struct dep_file_code *code = functions_code(q->v.f, unit);
	const struct function *f;
	size_t n = functions_all(q->v.f, &f), k = 0;
	uint64_t *size = sizes_of(code);
	struct covered row;
	int err = size ? 0 : -ENOMEM;

	while (!err) {
		while (k < code->nfunctions && code->function[k].whole != k)
			k++;
		if (*i < n && c->executed[*i].start.unit == unit &&
		    (k == code->nfunctions || f[*i].start <= code->function[k].start)) {
			row = c->executed[*i];
			if (k < code->nfunctions && f[*i].start == code->function[k].start)
				row.size = size[k++];
			++*i;
			if ((row.bytes || !q->o.per_ns) &&
			    profile_matches(&q->v, (uint32_t)(*i - 1)))
				err = add(c, &row);
		} else if (k < code->nfunctions) {
			row = (struct covered){ .start = { code->function[k].start, unit },
						.size = size[k] };
			k++;
			if (q->o.all && !q->o.function)
				err = add(c, &row);
		} else {
			break;
		}
	}
	free(size);
	return err;
}

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "executed_bytes", "bytes", ROW_COUNT },
	{ "function_bytes", "of", ROW_COUNT },
	{ "executed_instructions", "insns", ROW_COUNT },
	{ "executed_blocks", "blocks", ROW_COUNT },
	{ "at", "function", ROW_SITE },
};

static void print(struct query *q, const struct coverage *c)
{
	size_t i, n = query_rows(q, c->n);

	for (i = 0; i < n; i++) {
		row_share(&q->rows, c->row[i].bytes, c->row[i].size);
		row_count(&q->rows, c->row[i].bytes);
		row_count(&q->rows, c->row[i].size);
		row_count(&q->rows, c->row[i].insns);
		row_count(&q->rows, c->row[i].blocks);
		row_site(&q->rows, c->row[i].start);
	}
}

static struct row_columns columns_of(const struct query *q)
{
	if (q->o.files)
		return coverage_columns_of_files();
	return ROW_COLUMNS(columns);
}

static int begin(struct query *q)
{
	struct whole *w;
	int err;

	if (q->o.files)
		return coverage_files_begin(q);
	w = calloc(1, sizeof(*w));
	q->whole = w;
	if (!w)
		return -ENOMEM;
	err = merged_make(&w->m, &q->v, q->v.p);
	return err ? err : blocks_make(&w->b, &w->m);
}

static void end(struct query *q)
{
	struct whole *w = q->whole;

	if (q->o.files) {
		coverage_files_end(q);
		return;
	}
	if (w) {
		blocks_free(&w->b);
		merged_free(&w->m);
	}
	free(w);
}

static int run(struct query *q)
{
	struct coverage c = { 0 };
	struct merged m;
	uint32_t unit;
	size_t i = 0;
	int err;

	if (q->o.files)
		return coverage_files(q);
	err = merged_make(&m, &q->v, q->p);
	if (!err)
		err = count_executed(&c, q, &m);
	for (unit = 0; unit < functions_units(q->v.f) && !err; unit++)
		err = add_file(&c, q, unit, &i);
	if (!err)
		print(q, &c);
	free(c.row);
	free(c.executed);
	merged_free(&m);
	return err;
}

static const struct argp_option options[] = {
	{ "all", OPT_ALL, NULL, 0, "Also functions that were never executed, of files of which "
	  "code was executed", 1 },
	{ "files", OPT_FILES, NULL, 0, "Print the executed lines of each source file instead", 1 },
	QUERY_PER,
	{ 0 }
};

static const struct query_kind kind = {
	.doc = "Print which part of each function, or of each source file, was executed.",
	.options = options, .run = run, .columns = columns_of, .begin = begin, .end = end,
};

int query_coverage(int argc, char **argv)
{
	return query_run(&kind, argc, argv);
}
