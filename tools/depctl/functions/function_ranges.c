// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assign the executed instructions to functions.
 *
 * Where the file tells the extents of its functions, these decide.  Elsewhere (code without a file,
 * files that cannot be used, code outside of all extents) a function begins where a call goes, and
 * reaches up to the next one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "functions_internal.h"

/* The state of the walk through the sorted points. */
struct walk {
	struct functions *f;
	uint32_t unit;
	const struct dep_file_code *code;	/* of @unit */
	size_t next;		/* the first function of @code that ends behind the last point */
	uint32_t *whole;	/* by index in @code->function: 1 + that in @f->function; 0: none */
	bool gap;		/* the last point was in no extent of @code */
};

static bool is_call(uint8_t kind)
{
	return kind == DEP_BRANCH_CALL || kind == DEP_BRANCH_CALL_INDIRECT;
}

static size_t collect(const struct functions *f, struct point *out)
{
	const struct dep_profile *p = f->p;
	const struct dep_contexts *c = f->c;
	size_t i, n = 0;

	for (i = 0; p && i < p->ninsns; i++)
		out[n++] = (struct point){
			.site = functions_site(f, p->insn[i].process, p->insn[i].image,
					       p->insn[i].pc),
			.insns = p->insn[i].count, .refs = p->insn[i].count * p->insn[i].refs,
			.size = p->insn[i].size,
		};
	for (i = 0; p && i < p->nedges; i++)
		if (is_call(p->edge[i].kind))
			out[n++] = (struct point){
				.site = functions_site(f, p->edge[i].process, p->edge[i].to_image,
						       p->edge[i].to), .entry = true,
			};
	for (i = 1; c && i < c->ncontexts; i++)
		out[n++] = (struct point){
			.site = functions_site(f, c->context[i].process, c->context[i].image,
					       c->context[i].pc), .entry = true,
			.insns = p ? 0 : c->context[i].insns,
			.refs = p ? 0 : c->context[i].refs,
		};
	return n;
}

static int by_place(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;

	if (a->site.unit != b->site.unit)
		return a->site.unit < b->site.unit ? -1 : 1;
	if (a->site.addr != b->site.addr)
		return a->site.addr < b->site.addr ? -1 : 1;
	return a->entry == b->entry ? 0 : a->entry ? -1 : 1;
}

static int add_function(struct functions *f, uint32_t unit, uint64_t start, uint64_t end)
{
	struct function *more;
	uint32_t *units;
	size_t room = f->functions_room;

	more = functions_grow(f->function, f->nfunctions, &room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->function = more;
	units = functions_grow(f->function_unit, f->nfunctions, &f->functions_room, sizeof(*units));
	if (!units)
		return -ENOMEM;
	f->function_unit = units;
	if (f->nfunctions >= NO_FUNCTION - 1)
		return -ENOMEM;
	f->function_unit[f->nfunctions] = unit;
	f->function[f->nfunctions++] = (struct function){ .start = start, .end = end };
	return 0;
}

static int add_range(struct functions *f, uint32_t unit, uint64_t start, uint64_t end,
		     uint32_t function)
{
	struct range *more = functions_grow(f->range, f->nranges, &f->ranges_room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	f->range = more;
	f->range[f->nranges++] = (struct range){ start, end, unit, function };
	return 0;
}

static int begin_unit(struct walk *w, uint32_t unit)
{
	w->unit = unit;
	w->code = &w->f->unit[unit].code;
	w->next = 0;
	w->gap = false;
	free(w->whole);
	w->whole = calloc(w->code->nfunctions + 1, sizeof(*w->whole));
	return w->whole ? 0 : -ENOMEM;
}

static int enter_extent(struct walk *w, const struct dep_file_function *e)
{
	const struct dep_file_code *c = w->code;
	size_t at = e->whole < c->nfunctions ? e->whole : (size_t)(e - c->function);
	const struct dep_file_function *whole = &c->function[at];
	struct function *fn;

	if (!w->whole[at]) {
		if (add_function(w->f, w->unit, whole->start, whole->end))
			return -ENOMEM;
		fn = &w->f->function[w->f->nfunctions - 1];
		fn->name = whole->name;
		fn->symbol = whole->symbol;
		fn->stub = whole->kind == DEP_FUNCTION_STUB;
		w->whole[at] = (uint32_t)w->f->nfunctions;
	}
	return add_range(w->f, w->unit, e->start, e->end, w->whole[at] - 1);
}

static int enter_gap(struct walk *w, const struct point *q)
{
	if (add_function(w->f, w->unit, q->site.addr, q->site.addr))
		return -ENOMEM;
	w->gap = true;
	return add_range(w->f, w->unit, q->site.addr, q->site.addr,
			 (uint32_t)w->f->nfunctions - 1);
}

/* Find or begin the range of @q, which is then the last one. */
static int place_point(struct walk *w, const struct point *q)
{
	const struct dep_file_function *e = w->code->function;
	size_t n = w->code->nfunctions;
	struct range *last;

	while (w->next < n && e[w->next].end <= q->site.addr) {
		w->next++;
		w->gap = false;
	}
	if (w->next < n && e[w->next].start <= q->site.addr) {
		w->gap = false;
		last = w->f->nranges ? &w->f->range[w->f->nranges - 1] : NULL;
		if (last && last->unit == w->unit && last->start == e[w->next].start)
			return 0;
		return enter_extent(w, &e[w->next]);
	}
	last = w->gap ? &w->f->range[w->f->nranges - 1] : NULL;
	if (!last || (q->entry && q->site.addr != last->start))
		return enter_gap(w, q);
	return 0;
}

static void count_point(struct functions *f, const struct point *q)
{
	struct range *r = &f->range[f->nranges - 1];
	struct function *fn = &f->function[r->function];
	uint64_t end = q->site.addr + (q->size ? q->size : 1);

	fn->insns += q->insns;
	fn->refs += q->refs;
	if (end > r->end && r->start == fn->start && !fn->name && !fn->stub && end > fn->end)
		fn->end = end;
	if (end > r->end)
		r->end = end;
}

int functions_find_ranges(struct functions *f)
{
	size_t room = (f->p ? f->p->ninsns + f->p->nedges : 0) + (f->c ? f->c->ncontexts : 0), n, i;
	struct point *point = calloc(room + 1, sizeof(*point));
	struct walk w = { .f = f, .unit = NO_FUNCTION };
	int err = 0;

	if (!point)
		return -ENOMEM;
	n = collect(f, point);
	qsort(point, n, sizeof(*point), by_place);
	for (i = 0; i < n && !err; i++) {
		if (point[i].site.unit >= f->nunits)
			break;
		if (point[i].site.unit != w.unit)
			err = begin_unit(&w, point[i].site.unit);
		if (!err)
			err = place_point(&w, &point[i]);
		if (!err)
			count_point(f, &point[i]);
	}
	free(w.whole);
	free(point);
	return err;
}
