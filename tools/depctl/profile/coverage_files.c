// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query coverage --files: which lines of each source file were executed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"

struct line {
	const char *file;
	uint32_t line, unit;
	uint64_t start, end;
};

/** struct lines - the lines of all files that have code, by file and number */
struct lines {
	struct line *line;
	size_t n;
};

static int by_line(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	int d = a->file == b->file ? 0 : strcmp(a->file, b->file);

	return d ? d : a->line < b->line ? -1 : a->line > b->line;
}

/* Was an instruction of the line executed? */
static bool is_executed(const struct merged *m, const struct line *l)
{
	size_t i = merged_at(m, (struct site){ l->start, l->unit });

	for (; i < m->ninsns && m->insn[i].at.unit == l->unit && m->insn[i].at.addr < l->end; i++)
		if (m->insn[i].count)
			return true;
	return false;
}

static int add_unit(struct lines *to, const struct profile_view *v, uint32_t unit)
{
	const struct mapping at = functions_mapping(v->f, unit);
	const struct dep_file_code *code = functions_code(v->f, unit);
	const struct dep_file_line *l;
	struct line *more;
	size_t i, n;

	if (!code->nfunctions)
		return 0;
	n = dep_symbols_file_lines(v->symbols, at.process, code->function[0].start + at.bias,
				   at.time_ns, &l);
	more = reallocarray(to->line, to->n + n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	to->line = more;
	for (i = 0; i < n; i++)
		if (l[i].line && l[i].file)
			to->line[to->n++] = (struct line){ l[i].file, l[i].line, unit,
							   l[i].start, l[i].end };
	return 0;
}

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "executed_lines", "lines", ROW_COUNT },
	{ "code_lines", "of", ROW_COUNT },
	{ "file", "file", ROW_TEXT },
};

/* Print the file of the lines from @i on; return the index behind them. */
static size_t put_file(struct query *q, const struct merged *m, const struct lines *l, size_t i)
{
	const struct line *first = &l->line[i], *at = first;
	uint64_t lines = 0, executed = 0;
	bool run;

	while (i < l->n && !strcmp(l->line[i].file, first->file)) {
		at = &l->line[i];
		for (run = false; i < l->n && !by_line(at, &l->line[i]); i++)
			run = run || is_executed(m, &l->line[i]);
		lines++;
		executed += run;
	}
	if (executed || q->o.all) {
		row_share(&q->rows, executed, lines);
		row_count(&q->rows, executed);
		row_count(&q->rows, lines);
		row_text(&q->rows, first->file);
	}
	return i;
}

struct row_columns coverage_columns_of_files(void)
{
	return ROW_COLUMNS(columns);
}

int coverage_files_begin(struct query *q)
{
	struct lines *l = calloc(1, sizeof(*l));
	int err = l ? 0 : -ENOMEM;
	uint32_t unit;

	q->whole = l;
	for (unit = 0; unit < functions_units(q->v.f) && !err; unit++)
		err = add_unit(l, &q->v, unit);
	if (!err && l->n)
		qsort(l->line, l->n, sizeof(*l->line), by_line);
	return err;
}

void coverage_files_end(struct query *q)
{
	struct lines *l = q->whole;

	if (l)
		free(l->line);
	free(l);
}

int coverage_files(struct query *q)
{
	const struct lines *l = q->whole;
	struct merged m;
	int err = merged_make(&m, &q->v, q->p);
	size_t i;

	for (i = 0; i < l->n && !err;)
		i = put_file(q, &m, l, i);
	merged_free(&m);
	return err;
}
