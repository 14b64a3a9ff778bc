// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print the functions or contexts whose counts differ, the largest change first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/missing.h"
#include "tools/depctl/common/table.h"
#include "diff.h"

#define STACK_SHOWN	4u	/* functions of a context in a line of text */

/* A difference: a row, or a context with its row. */
struct change {
	const struct diff_row *row;		/* NULL: code of no function */
	const struct diff_counts *side;		/* of SIDES */
	uint32_t context, number;
};

struct printer {
	struct diff *d;
	const struct diff_options *o;
	struct change *change;
	size_t n, left_out;
	uint64_t threshold;
	struct out out;
	struct json j;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

static bool differ(const struct diff_counts *c)
{
	return c[0].insns != c[1].insns || c[0].refs != c[1].refs || c[0].calls != c[1].calls ||
	       c[0].present != c[1].present;
}

static int by_size(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;
	uint64_t x = distance(a->side[0].insns, a->side[1].insns);
	uint64_t y = distance(b->side[0].insns, b->side[1].insns);

	if (x != y)
		return x < y ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void add_change(struct printer *p, const struct diff_row *row,
		       const struct diff_counts *side, uint32_t number)
{
	if (!differ(side))
		return;
	if (p->threshold && distance(side[0].insns, side[1].insns) <= p->threshold) {
		p->left_out++;
		return;
	}
	p->change[p->n++] = (struct change){ row, side, number, number };
}

static int find_changes(struct printer *p)
{
	struct diff *d = p->d;
	uint32_t i, n = d->context ? d->ncontexts : d->nrows;

	p->change = calloc(n + 1ul, sizeof(*p->change));
	if (!p->change) {
		warn("out of memory");
		return 1;
	}
	p->threshold = p->o->threshold_share > 0 ?
		       (uint64_t)(p->o->threshold_share * (double)d->l[0].profile->insns) :
		       p->o->threshold;
	for (i = 0; i < n; i++) {
		if (!d->context)
			add_change(p, &d->row[i], d->row[i].side, i);
		else if (i)
			add_change(p, d->context[i].row == NO_FUNCTION ? NULL :
				   &d->row[d->context[i].row], d->context[i].side, i);
	}
	qsort(p->change, p->n, sizeof(*p->change), by_size);
	return 0;
}

/* ---- names ---- */

static const struct function *function_of(const struct diff_row *row)
{
	return !row ? NULL : row->function[1] ? row->function[1] : row->function[0];
}

static bool in_file(const struct function *f)
{
	return *f->path && *f->path != '[';
}

static const char *name_of(const struct diff_row *row)
{
	const struct function *f = function_of(row);

	return !f ? "[unknown]" : in_file(f) ? f->name : f->module;
}

static const char *note_of(const struct change *c)
{
	if (!c->side[0].present)
		return "only in the second";
	if (!c->side[1].present)
		return "only in the first";
	return c->row && c->row->code == DIFF_CODE_CHANGED ? "code changed" : "";
}

/* Describe a context by its innermost functions, the outermost of them first. */
static void stack_text(const struct diff *d, uint32_t context, char *text, size_t size)
{
	const char *name[STACK_SHOWN] = { NULL };
	size_t n = 0, used = 0;

	for (; context && n < STACK_SHOWN; context = d->context[context].parent)
		name[n++] = name_of(d->context[context].row == NO_FUNCTION ? NULL :
				    &d->row[d->context[context].row]);
	snprintf(text, size, "%s", context ? ".. > " : "");
	while (n--) {
		used = strlen(text);
		snprintf(text + used, size - used, "%s%s", name[n], n ? " > " : "");
	}
}

/* ---- text ---- */

static const struct table_column columns[] = {
	{ "CHANGE", TABLE_RIGHT }, { "BEFORE", TABLE_RIGHT }, { "AFTER", TABLE_RIGHT },
	{ "CALLS", TABLE_RIGHT }, { "MODULE", TABLE_LEFT }, { "NOTE", TABLE_LEFT },
	{ "FUNCTION", TABLE_TEXT },
};

static void signed_cell(struct table *t, uint64_t before, uint64_t after)
{
	if (before == after)
		table_cell(t, "0");
	else
		table_cell(t, "%c%" PRIu64, before < after ? '+' : '-', distance(before, after));
}

static void text_row(struct printer *p, struct table *t, const struct change *c)
{
	const struct function *f = function_of(c->row);
	char stack[2048];

	signed_cell(t, c->side[0].insns, c->side[1].insns);
	table_cell(t, "%" PRIu64, c->side[0].insns);
	table_cell(t, "%" PRIu64, c->side[1].insns);
	signed_cell(t, c->side[0].calls, c->side[1].calls);
	table_cell(t, "%s", f ? f->module : "?");
	table_cell(t, "%s", note_of(c));
	if (p->d->context)
		stack_text(p->d, c->context, stack, sizeof(stack));
	table_cell(t, "%s", p->d->context ? stack : name_of(c->row));
}

static int text_rows(struct printer *p)
{
	size_t i, shown = p->o->top && p->o->top < p->n ? p->o->top : p->n;
	struct table t;

	if (!p->n)
		return 0;
	if (table_begin(&t, columns, sizeof(columns) / sizeof(columns[0])))
		return 1;
	for (i = 0; i < shown; i++)
		text_row(p, &t, &p->change[i]);
	if (table_end(&t, &p->out))
		return 1;
	if (shown < p->n)
		out_printf(&p->out, "%zu more; --top=0 prints all\n", p->n - shown);
	return 0;
}

static int print_text(struct printer *p)
{
	uint64_t before = p->d->l[0].profile->insns, after = p->d->l[1].profile->insns;

	out_layout(&p->out);
	if (text_rows(p))
		return 1;
	if (!p->n && !p->left_out)
		return 0;
	out_printf(&p->out, "%zu %s differ%s; instructions: %" PRIu64 ", then %" PRIu64
		   " (%+.3f %%)", p->n, p->d->context ? "contexts" : "functions",
		   p->n == 1 ? "s" : "", before, after,
		   before ? ((double)after - (double)before) * 100 / (double)before : 0.0);
	if (p->left_out)
		out_printf(&p->out, "; %zu more changed by at most %" PRIu64 " instructions",
			   p->left_out, p->threshold);
	out_text(&p->out, "\n");
	return 0;
}

/* ---- JSON ---- */

static void json_counts(struct json *j, const char *key, const struct diff_counts *c)
{
	if (!c->present) {
		json_str(j, key, NULL);
		return;
	}
	json_object(j, key);
	json_u64(j, "instructions", c->insns);
	json_u64(j, "references", c->refs);
	json_u64(j, "calls", c->calls);
	json_close(j, '}');
}

static void json_row(struct printer *p, const struct change *c)
{
	const struct function *f = function_of(c->row);
	uint32_t context = c->context;
	struct json *j = &p->j;

	json_object(j, NULL);
	json_str(j, "function", name_of(c->row));
	json_str(j, "symbol", f && in_file(f) ? f->symbol : NULL);
	json_str(j, "module", f ? f->module : NULL);
	if (c->row && c->row->code != DIFF_CODE_UNKNOWN)
		json_bool(j, "code_changed", c->row->code == DIFF_CODE_CHANGED);
	else
		json_str(j, "code_changed", NULL);
	json_counts(j, "in_first", &c->side[0]);
	json_counts(j, "in_second", &c->side[1]);
	if (p->d->context) {
		json_array(j, "callers");
		while ((context = p->d->context[context].parent))
			json_str(j, NULL, name_of(p->d->context[context].row == NO_FUNCTION ? NULL :
						  &p->d->row[p->d->context[context].row]));
		json_close(j, ']');
	}
	json_close(j, '}');
	json_line(j);
}

void diff_json_side(struct json *j, const struct diff *d, const char *key, unsigned int side)
{
	const struct loaded *l = &d->l[side];
	struct reasons why;

	reasons_of_profile(&why, l->store, l->profile, l->contexts);
	json_object(j, key);
	json_str(j, "store", d->path[side]);
	json_u64(j, "instructions", l->profile->insns);
	json_u64(j, "references", l->profile->refs);
	json_bool(j, "complete", !why.n);
	json_close(j, '}');
}

static void print_json(struct printer *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		json_row(p, &p->change[i]);
	json_object(&p->j, NULL);
	json_u64(&p->j, "differences", p->n);
	json_u64(&p->j, "below_threshold", p->left_out);
	diff_json_side(&p->j, p->d, "in_first", 0);
	diff_json_side(&p->j, p->d, "in_second", 1);
	json_close(&p->j, '}');
	json_line(&p->j);
}

/* ---- the command's result ---- */

static void explain(const struct printer *p)
{
	if (dep_store_meta(p->d->l[0].store)->aslr || dep_store_meta(p->d->l[1].store)->aslr)
		warn("addresses were random: record with --no-aslr, and fix what else the program "
		     "makes random (such as PYTHONHASHSEED=0), to see other changes only");
}

int diff_print(struct diff *d, const struct diff_options *o)
{
	struct printer p = { .d = d, .o = o };
	int status;

	if (find_changes(&p))
		return EXIT_USAGE;
	out_begin(&p.out);
	json_begin(&p.j, &p.out);
	status = 0;
	if (o->json)
		print_json(&p);
	else
		status = print_text(&p);
	status |= out_end(&p.out);
	if (!status && p.n && !o->json)
		explain(&p);
	free(p.change);
	return status ? EXIT_USAGE : p.n ? EXIT_FAILURE : 0;
}
