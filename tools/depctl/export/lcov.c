// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lcov's format: how often each line and function was executed, with those that never ran.
 *
 * The count of a line is how often control came to it: from another line, by a call, or by a jump
 * back within the line, which is a loop of its own.  A return into the middle of a line does not
 * count.  gcov counts in the same way, by the compiler's graph.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/numbering.h"
#include "code_blocks.h"
#include "export.h"
#include "lines.h"

/* A line of a source file, or a function (@name) that begins there. */
struct lcov_row {
	uint32_t file, line;		/* @file: its number */
	const char *name;		/* NULL: a line */
	uint64_t count;
};

struct lcov {
	struct export *x;
	struct lines lines;
	struct numbering files, seen;	/* names of source files; files that were listed */
	struct lcov_row *row;
	size_t n, room;
	bool failed;
};

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static void add(struct lcov *l, const char *file, uint32_t line, const char *name, uint64_t count)
{
	size_t room = 2 * l->room + 4096;
	struct lcov_row *row;
	uint32_t number;

	if (!line || !file || l->failed)
		return;
	if (l->n == l->room) {
		row = reallocarray(l->row, room, sizeof(*row));
		l->failed = !row;
		if (!row)
			return;
		l->row = row;
		l->room = room;
	}
	number = number_of(&l->files, file, strlen(file) + 1);
	l->failed = number == NUMBERING_FULL;
	l->row[l->n++] = (struct lcov_row){ number, line, name, count };
}

/* ---- lines that could be executed ---- */

static bool chosen_at(struct lcov *l, const struct dep_module *m, uint32_t image, uint64_t pc)
{
	uint32_t f;

	if (!l->x->function_glob)
		return true;
	f = functions_at(l->x->l.functions, m->process, image, pc);
	return f != NO_FUNCTION && l->x->chosen[f];
}

/* The executed function that begins at @start of a file; functions are sorted by file and start. */
static const struct function *executed(struct lcov *l, const struct dep_file_code *code,
				       uint64_t start)
{
	size_t low = 0, high = l->x->l.nfunctions, i;
	const struct function *f;
	int order;

	while (low < high) {
		i = low + (high - low) / 2;
		f = &l->x->l.function[i];
		order = strcmp(f->path, code->path);
		if (!order)
			order = strcmp(f->build_id, code->build_id);
		if (!order)
			order = ORDER(f->start, start);
		if (!order)
			return f;
		if (order < 0)
			low = i + 1;
		else
			high = i;
	}
	return NULL;
}

static void add_functions(struct lcov *l, uint32_t image)
{
	const struct dep_module *m = &l->lines.module[image - 1];
	const struct dep_file_line *line;
	const struct dep_file_function *fn;
	const struct function *ran;
	struct dep_file_code code;
	size_t i;

	if (dep_symbols_file_code(l->lines.symbols, m->process, m->start, m->from_ns, &code))
		return;
	for (i = 0; i < code.nfunctions; i++) {
		fn = &code.function[i];
		if (fn->kind != DEP_FUNCTION_SYMBOL || fn->whole != i || !fn->name)
			continue;
		line = lines_at(&l->lines, image, fn->start + code.bias);
		if (!line || !chosen_at(l, m, image, fn->start + code.bias))
			continue;
		ran = executed(l, &code, fn->start);
		add(l, line->file, line->line, fn->name, ran ? ran->calls : 0);
	}
}

/* Add all lines and functions of each executed file once. */
static void add_files(struct lcov *l, const bool *used)
{
	const struct lines_file *f;
	const struct dep_module *m;
	uint32_t image, n, number;
	char key[8192];
	size_t i;
	int size;

	for (image = 1; image <= l->lines.nmodules; image++) {
		m = &l->lines.module[image - 1];
		if (!used[image] || !export_module(l->x, m->path))
			continue;
		size = snprintf(key, sizeof(key), "%s%c%s", m->path, 0, m->build_id);
		if (size < 0 || (size_t)size >= sizeof(key))
			continue;
		n = l->seen.n;
		number = number_of(&l->seen, key, (size_t)size);
		l->failed |= number == NUMBERING_FULL;
		if (number != n)
			continue;
		f = lines_file(&l->lines, image);
		for (i = 0; i < f->n; i++)
			if (chosen_at(l, m, image, f->row[i].start + f->bias))
				add(l, f->row[i].file, f->row[i].line, NULL, 0);
		add_functions(l, image);
	}
}

/* ---- counts ---- */

static const struct dep_file_line *line_of(struct lcov *l, size_t insn)
{
	const struct dep_insn_count *at = &l->x->l.profile->insn[insn];

	return lines_at(&l->lines, at->image, at->pc);
}

static bool same_line(const struct dep_file_line *a, const struct dep_file_line *b)
{
	return a && b && a->line == b->line &&
	       (a->file == b->file || !strcmp(a->file, b->file));
}

static void add_to_line(struct lcov *l, size_t insn, uint64_t count)
{
	const struct dep_insn_count *at = &l->x->l.profile->insn[insn];
	const struct dep_file_line *line = line_of(l, insn);

	if (line && export_chosen(l->x, functions_at(l->x->l.functions, at->process, at->image,
						     at->pc)))
		add(l, line->file, line->line, NULL, count);
}

/* True if the edge to instruction @to comes to its line, rather than to go on within it. */
static bool enters(struct lcov *l, const struct dep_edge_count *e, size_t to)
{
	const struct dep_profile *p = l->x->l.profile;
	const struct dep_file_line *line = line_of(l, to);

	switch (e->kind) {
	case DEP_BRANCH_CALL:
	case DEP_BRANCH_CALL_INDIRECT:
	case DEP_EDGE_ENTERED:
		return true;
	case DEP_BRANCH_RETURN:
		if (!insn_follows(p, to))
			return true;
		return !same_line(line, line_of(l, to - 1));
	default:
		if (!same_line(line, lines_at(&l->lines, e->image, e->from)))
			return true;
		return e->kind != DEP_BRANCH_SYSCALL && e->kind != DEP_BRANCH_NONE &&
		       e->to <= e->from;
	}
}

static void count_lines(struct lcov *l, struct flow *flow)
{
	const struct dep_profile *p = l->x->l.profile;
	const struct dep_edge_count *e;
	uint64_t count;
	size_t i, to;

	for (i = 0; i < p->ninsns && !l->failed; i++) {
		count = flow_into(flow, i);
		if (count && !same_line(line_of(l, i), line_of(l, i - 1)))
			add_to_line(l, i, count);
	}
	for (i = 0; i < p->nedges && !l->failed; i++) {
		e = &p->edge[i];
		to = insn_at(p, e->process, e->to_image, e->to);
		if (e->kind != DEP_EDGE_LEFT && to != NO_INSN && enters(l, e, to))
			add_to_line(l, to, e->count);
	}
}

/* ---- output ---- */

static int by_place(const void *pa, const void *pb)
{
	const struct lcov_row *a = pa, *b = pb;
	int order = ORDER(a->file, b->file);

	if (!order)
		order = ORDER(!a->name, !b->name);
	if (!order)
		order = ORDER(a->line, b->line);
	return order || !a->name || !b->name ? order : strcmp(a->name, b->name);
}

static void merge(struct lcov *l)
{
	size_t i, n = 0;

	qsort(l->row, l->n, sizeof(*l->row), by_place);
	for (i = 0; i < l->n; i++) {
		if (n && !by_place(&l->row[n - 1], &l->row[i]))
			l->row[n - 1].count += l->row[i].count;
		else
			l->row[n++] = l->row[i];
	}
	l->n = n;
}

static void put_row(struct out *o, const struct lcov_row *r)
{
	if (!r->name) {
		out_printf(o, "DA:%u,%" PRIu64 "\n", r->line, r->count);
		return;
	}
	out_printf(o, "FN:%u,", r->line);
	out_plain(o, r->name);
	out_printf(o, "\nFNDA:%" PRIu64 ",", r->count);
	out_plain(o, r->name);
	out_text(o, "\n");
}

/* Put the rows of one source file, functions first; return their number. */
static size_t put_source(struct lcov *l, const struct lcov_row *r, size_t n)
{
	size_t i, lines = 0, lines_hit = 0, functions = 0, functions_hit = 0;
	struct out *o = &l->x->out;

	out_text(o, "TN:\nSF:");
	out_plain(o, number_key(&l->files, r->file));
	out_text(o, "\n");
	for (i = 0; i < n && r[i].file == r->file; i++) {
		put_row(o, &r[i]);
		lines += !r[i].name;
		lines_hit += !r[i].name && r[i].count;
		functions += !!r[i].name;
		functions_hit += r[i].name && r[i].count;
	}
	out_printf(o, "FNF:%zu\nFNH:%zu\nLF:%zu\nLH:%zu\nend_of_record\n", functions,
		   functions_hit, lines, lines_hit);
	return i;
}

int export_lcov(struct export *x)
{
	const struct dep_profile *p = x->l.profile;
	struct lcov l = { .x = x };
	struct flow flow = { 0 };
	bool *used = NULL;
	size_t i;

	if (lines_begin(&l.lines, x->l.store, x->l.symbols) || flow_begin(&flow, p))
		l.failed = true;
	used = calloc(l.lines.nmodules + 1, sizeof(*used));
	if (!used)
		l.failed = true;
	for (i = 0; !l.failed && i < p->ninsns; i++)
		if (p->insn[i].image <= l.lines.nmodules)
			used[p->insn[i].image] = true;
	if (!l.failed)
		add_files(&l, used);
	if (!l.failed)
		count_lines(&l, &flow);
	if (l.failed) {
		warn("out of memory");
	} else {
		merge(&l);
		for (i = 0; i < l.n;)
			i += put_source(&l, &l.row[i], l.n - i);
	}
	flow_end(&flow);
	lines_end(&l.lines);
	numbering_free(&l.files);
	numbering_free(&l.seen);
	free(l.row);
	free(used);
	return l.failed;
}
