// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query edges --annotate: source and instructions of functions, with counts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/common/disassembler.h"
#include "tools/depctl/common/source_file.h"
#include "tools/depctl/depctl.h"
#include "query.h"

struct annotate {
	struct query *q;
	struct merged m;
	size_t *first;			/* by function: index in @order of its first instruction */
	size_t *order;			/* indexes in @m.insn, by function and address */
	struct disassembler disassembler;
	struct source_file source;
	struct timespec recorded;	/* when the recording began */
	const char *file;		/* source line that was printed last */
	uint32_t line;
};

/* An instruction of a function. */
struct insn {
	const struct insn_row *row;
	struct dep_place place;
	char text[DISASSEMBLER_TEXT];
};

static void read_insn(const struct annotate *a, const struct insn_row *row, struct insn *in)
{
	uint8_t bytes[15];
	size_t n = dep_insn_bytes(a->q->v.store, row->fragment, row->pc, bytes);

	in->row = row;
	functions_place(a->q->v.f, row->at, &in->place);
	snprintf(in->text, sizeof(in->text), "(not recorded)");
	if (n)
		disassemble(&a->disassembler, row->at.addr, bytes, n, in->text);
}

/* Print a source line, with spaces instead of tabs. */
static void put_line(struct out *o, const char *text, size_t n)
{
	const char *end = text + n, *tab;
	size_t column = 0;

	while ((tab = memchr(text, '\t', (size_t)(end - text)))) {
		out_plain_part(o, text, tab);
		column += (size_t)(tab - text);
		out_printf(o, "%*s", (int)(8 - column % 8), "");
		column += 8 - column % 8;
		text = tab + 1;
	}
	out_plain_part(o, text, end);
}

static void put_source(struct annotate *a, const struct dep_place *p)
{
	struct out *o = &a->q->out;
	const char *text;
	size_t n;

	if (!p->line || (p->file == a->file && p->line == a->line))
		return;
	a->file = p->file;
	a->line = p->line;
	text = source_file_line(&a->source, p->file, p->line, &a->recorded);
	n = text ? strcspn(text, "\n") : 0;
	out_color(o, COLOR_LOCATION);
	out_printf(o, "%27s", "");
	out_plain(o, base_name(p->file));
	out_printf(o, ":%u", p->line);
	out_color(o, COLOR_END);
	if (text) {
		out_text(o, "  ");
		put_line(o, text, n);
	}
	out_text(o, "\n");
}

/* Color an instruction by its share of all that the program executed. */
static const char *heat(uint64_t count, uint64_t most)
{
	if (!count || count < most / 10)
		return NULL;
	return count >= most / 2 ? COLOR_ERROR : COLOR_HEADING;
}

static void put_insn(struct annotate *a, const struct insn *in, uint64_t most)
{
	struct out *o = &a->q->out;
	const char *color = heat(in->row->count, most);

	put_source(a, &in->place);
	if (color)
		out_color(o, color);
	out_printf(o, "%14llu", (unsigned long long)in->row->count);
	if (color)
		out_color(o, COLOR_END);
	out_printf(o, "  %9llx  %s\n", (unsigned long long)in->row->at.addr, in->text);
}

static void put_heading(struct annotate *a, const struct function *f)
{
	struct out *o = &a->q->out;

	out_color(o, COLOR_HEADING);
	out_printf(o, "%14s  %9s  ", "executions", "address");
	out_plain(o, f->name);
	out_color(o, COLOR_END);
	out_printf(o, ": %llu instructions, %llu calls, ", (unsigned long long)f->insns,
		   (unsigned long long)f->calls);
	out_plain(o, f->module);
	if (f->file) {
		out_text(o, ", ");
		out_plain(o, f->file);
		out_printf(o, ":%u", f->line);
	}
	out_text(o, "\n");
	a->file = NULL;
	a->line = 0;
}

static const struct row_column columns[] = {
	{ "executions", "", ROW_COUNT },
	{ "instruction_bytes", "", ROW_COUNT },
	{ "assembly", "", ROW_TEXT },
	{ "at", "", ROW_SITE },
};

/* Sort the instructions by function: a function can have parts far apart. */
static int sort_insns(struct annotate *a, size_t nfunctions)
{
	size_t i, *next;
	uint32_t *fn = calloc(a->m.ninsns + 1, sizeof(*fn));

	a->first = calloc(nfunctions + 2, sizeof(*a->first));
	a->order = calloc(a->m.ninsns + 1, sizeof(*a->order));
	if (!fn || !a->first || !a->order) {
		free(fn);
		return -ENOMEM;
	}
	/* Function i is filled in at next[i], so in the end next[i] is first[i + 1], its end. */
	next = a->first + 1;
	for (i = 0; i < a->m.ninsns; i++) {
		fn[i] = functions_in(a->q->v.f, a->m.insn[i].at);
		if (fn[i] < nfunctions && fn[i] + 1 < nfunctions)
			next[fn[i] + 1]++;
	}
	for (i = 1; i < nfunctions; i++)
		next[i] += next[i - 1];
	for (i = 0; i < a->m.ninsns; i++)
		if (fn[i] < nfunctions)
			a->order[next[fn[i]]++] = i;
	free(fn);
	return 0;
}

static void put_row(struct query *q, const struct insn *in)
{
	row_count(&q->rows, in->row->count);
	row_count(&q->rows, in->row->size);
	row_text(&q->rows, in->text);
	row_site(&q->rows, in->row->at);
}

/* Print the instructions of function @i. */
static void put_function(struct annotate *a, uint32_t i, const struct function *f)
{
	const size_t *at = a->order + a->first[i], *end = a->order + a->first[i + 1], *k;
	struct query *q = a->q;
	uint64_t most = 0, gap = 0;
	struct insn in;

	if (q->o.form == PROFILE_TEXT)
		put_heading(a, f);
	for (k = at; k < end; k++)
		if (a->m.insn[*k].count > most)
			most = a->m.insn[*k].count;
	for (k = at; k < end; k++) {
		read_insn(a, &a->m.insn[*k], &in);
		if (q->o.form != PROFILE_TEXT) {
			put_row(q, &in);
			continue;
		}
		if (gap && gap < in.row->at.addr)
			out_printf(&q->out, "%14s  %9llx  %llu bytes that were not executed\n", "",
				   (unsigned long long)gap,
				   (unsigned long long)(in.row->at.addr - gap));
		gap = in.row->at.addr + in.row->size;
		put_insn(a, &in, most);
	}
}

static int print(struct annotate *a, const char *pattern)
{
	struct query *q = a->q;
	const struct function *f;
	size_t i, n = functions_all(q->v.f, &f), found = 0;

	if (q->o.form != PROFILE_TEXT &&
	    rows_begin(&q->rows, &q->v, &q->out, columns, sizeof(columns) / sizeof(*columns)))
		return EXIT_FAILURE;
	for (i = 0; i < n; i++) {
		if (!function_matches(&f[i], pattern))
			continue;
		if (found++ && q->o.form == PROFILE_TEXT)
			out_text(&q->out, "\n");
		put_function(a, (uint32_t)i, &f[i]);
	}
	if (found)
		return 0;
	warn("%s: no function '%s' was executed; `depctl query methods' lists them", q->o.path,
	     pattern);
	return EXIT_FAILURE;
}

int annotate(struct query *q, const char *pattern)
{
	uint64_t start = dep_store_meta(q->v.store)->start_realtime_ns;
	struct annotate a = { .q = q, .recorded = { .tv_sec = (time_t)(start / 1000000000),
						    .tv_nsec = (long)(start % 1000000000) } };
	const struct function *f;
	int status;

	if (!disassembler_begin(&a.disassembler))
		return EXIT_FAILURE;
	status = merged_make(&a.m, &q->v, q->v.p);
	if (!status)
		status = sort_insns(&a, functions_all(q->v.f, &f));
	if (!status)
		status = print(&a, pattern);
	merged_free(&a.m);
	free(a.first);
	free(a.order);
	source_file_free(&a.source);
	return status;
}
