// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often functions were entered, what stubs of a PLT jump to, and instructions with callees.
 *
 * A stub's first jump often goes to the dynamic loader, which finds the function and jumps to it.
 * So the target of a stub is the function outside of stubs that most of its jumps reach; after a
 * single jump, the executed function with the stub's name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "functions_internal.h"

/* The two functions of an edge; NO_FUNCTION: not known. */
struct ends {
	uint32_t from, to;
	bool start;		/* the edge goes to the first instruction of @to */
};

static bool is_start(const struct functions *f, uint32_t fn, struct site site)
{
	return fn != NO_FUNCTION && f->function[fn].start == site.addr;
}

static struct ends ends_of(const struct functions *f, const struct dep_edge_count *e)
{
	struct site to = functions_site(f, e->process, e->to_image, e->to);
	struct ends n = { NO_FUNCTION, NO_FUNCTION, false };

	if (e->kind != DEP_EDGE_ENTERED)
		n.from = functions_at(f, e->process, e->image, e->from);
	if (e->kind != DEP_EDGE_LEFT)
		n.to = functions_in(f, to);
	n.start = is_start(f, n.to, to);
	return n;
}

static bool enters(const struct dep_edge_count *e, const struct ends *n)
{
	if (n->to == NO_FUNCTION)
		return false;
	switch (e->kind) {
	case DEP_BRANCH_CALL:
	case DEP_BRANCH_CALL_INDIRECT:
		return n->start || n->from != n->to;
	case DEP_EDGE_ENTERED:
		return n->start;
	default:
		return n->start && n->from != n->to;
	}
}

/* ---- stubs ---- */

/* A jump counts for a stub's target if it leaves the stubs. */
static void count_target(struct functions *f, uint64_t *best, const struct ends *n, uint64_t count)
{
	if (n->from == NO_FUNCTION || n->to == NO_FUNCTION || !n->start ||
	    !f->function[n->from].stub || !f->function[n->from].named ||
	    f->function[n->to].stub || count <= best[n->from])
		return;
	best[n->from] = count;
	f->target[n->from] = n->to;
}

static void targets_of_contexts(struct functions *f, uint64_t *best)
{
	const struct dep_context *c = f->c->context;
	struct ends n = { .start = true };
	size_t i;

	for (i = 1; i < f->c->ncontexts; i++) {
		if (c[i].kind != DEP_CONTEXT_TAIL || c[i].parent >= i)
			continue;
		n.from = f->context[c[i].parent];
		n.to = f->context[i];
		count_target(f, best, &n, c[i].calls);
	}
}

/* The executed function that begins at @place, unless it is a stub. */
static uint32_t function_from(const struct functions *f, const struct dep_place *place)
{
	uint32_t unit = functions_find_file(f, place->module, place->build_id), fn;
	struct site site = { place->linked, unit };

	fn = functions_in(f, site);
	if (!place->linked || fn == NO_FUNCTION || f->function[fn].stub ||
	    f->function[fn].start != site.addr)
		return NO_FUNCTION;
	return fn;
}

static uint32_t executed_with_name(struct functions *f, uint32_t stub)
{
	const struct unit *u = &f->unit[f->function_unit[stub]];
	const struct function *fn = &f->function[stub];
	struct dep_place place;
	uint64_t pc[8];
	uint32_t found;
	size_t i, n;

	n = dep_symbols_find(f->symbols, u->any_process, fn->symbol ? fn->symbol : fn->name, pc, 8);
	for (i = 0; i < n && i < 8; i++) {
		dep_symbols_module(f->symbols, u->any_process, pc[i], 0, &place);
		found = function_from(f, &place);
		if (found != NO_FUNCTION)
			return found;
	}
	return stub;
}

static int find_targets(struct functions *f)
{
	const struct dep_profile *p = f->p;
	uint64_t *best = calloc(f->nfunctions + 1, sizeof(*best));
	struct ends n;
	size_t i;

	f->target = calloc(f->nfunctions + 1, sizeof(*f->target));
	if (!best || !f->target) {
		free(best);
		return -ENOMEM;
	}
	for (i = 0; i < f->nfunctions; i++)
		f->target[i] = (uint32_t)i;
	for (i = 0; p && i < p->nedges; i++) {
		if (p->edge[i].kind != DEP_BRANCH_JUMP_INDIRECT)
			continue;
		n = ends_of(f, &p->edge[i]);
		count_target(f, best, &n, p->edge[i].count);
	}
	if (!p && f->c)
		targets_of_contexts(f, best);
	for (i = 0; i < f->nfunctions; i++)
		if (f->function[i].stub && f->function[i].named && f->target[i] == i)
			f->target[i] = executed_with_name(f, (uint32_t)i);
	free(best);
	return 0;
}

/* Name the implementation that an indirect function (IFUNC) selected after the stub. */
static int name_targets(struct functions *f)
{
	struct function *fn, *stub;
	size_t i;

	for (i = 0; i < f->nfunctions; i++) {
		stub = &f->function[i];
		fn = &f->function[f->target[i]];
		if (!stub->stub || f->target[i] == i || fn->named)
			continue;
		fn->name = functions_text(f, "%s (%s+%llx)", stub->name, fn->module,
					  (unsigned long long)fn->start);
		if (!fn->name)
			return -ENOMEM;
		fn->symbol = stub->symbol;
		fn->named = true;
	}
	return 0;
}

/* ---- calls ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void uncount_call(const struct functions *f, const struct dep_edge_count *e,
			 struct function_count *out)
{
	struct site site = functions_site(f, e->process, e->image, e->from);
	uint32_t fn = functions_in(f, site);

	if (is_start(f, fn, site))
		out[fn].calls -= least(out[fn].calls, e->count);
}

static void count_calls(const struct functions *f, const struct dep_profile *p,
			struct function_count *out)
{
	struct ends n;
	size_t i;

	for (i = 0; i < p->nedges; i++) {
		n = ends_of(f, &p->edge[i]);
		if (enters(&p->edge[i], &n))
			out[n.to].calls += p->edge[i].count;
	}
	/* Interrupted in front of its first instruction: it is entered again, or never was. */
	for (i = 0; i < p->nedges; i++)
		if (p->edge[i].kind == DEP_EDGE_LEFT)
			uncount_call(f, &p->edge[i], out);
}

void functions_count(const struct functions *f, const struct dep_profile *interval,
		     struct function_count *out)
{
	const struct dep_insn_count *in = interval->insn;
	uint32_t fn;
	size_t i;

	for (i = 0; i < interval->ninsns; i++) {
		fn = functions_at(f, in[i].process, in[i].image, in[i].pc);
		if (fn == NO_FUNCTION)
			continue;
		out[fn].insns += in[i].count;
		out[fn].refs += in[i].count * in[i].refs;
	}
	count_calls(f, interval, out);
}

static int count_all_calls(struct functions *f)
{
	struct function_count *count = calloc(f->nfunctions + 1, sizeof(*count));
	size_t i;

	if (!count)
		return -ENOMEM;
	count_calls(f, f->p, count);
	for (i = 0; i < f->nfunctions; i++)
		f->function[i].calls = count[i].calls;
	free(count);
	return 0;
}

static int name_contexts(struct functions *f)
{
	const struct dep_context *c = f->c->context;
	size_t i;

	f->context = calloc(f->c->ncontexts + 1, sizeof(*f->context));
	if (!f->context)
		return -ENOMEM;
	f->context[0] = NO_FUNCTION;
	for (i = 1; i < f->c->ncontexts; i++)
		f->context[i] = functions_at(f, c[i].process, c[i].image, c[i].pc);
	return 0;
}

static void count_context_calls(struct functions *f)
{
	size_t i;

	for (i = 1; i < f->c->ncontexts; i++)
		if (f->context[i] != NO_FUNCTION)
			f->function[f->context[i]].calls += f->c->context[i].calls;
}

/* ---- instructions with callees ---- */

struct tree {
	uint64_t *insns;	/* of a context and all below it */
	uint32_t *child, *next;	/* first child and next sibling; 0: none */
	uint32_t *active;	/* by function: number of its contexts on the way to the root */
};

static void link_tree(const struct dep_contexts *c, struct tree *t)
{
	size_t i;
	uint32_t parent;

	for (i = c->ncontexts; i-- > 1;) {
		parent = c->context[i].parent;
		if (parent >= i)
			parent = 0;
		t->insns[i] += c->context[i].insns;
		t->insns[parent] += t->insns[i];
		t->next[i] = t->child[parent];
		t->child[parent] = (uint32_t)i;
	}
}

static void enter_context(struct functions *f, struct tree *t, uint32_t i)
{
	uint32_t fn = f->context[i];

	if (fn != NO_FUNCTION && !t->active[fn]++)
		f->function[fn].inclusive += t->insns[i];
}

/* Visit the tree in depth-first order; a recursive function counts once on each way. */
static void add_inclusive(struct functions *f, struct tree *t)
{
	const struct dep_context *c = f->c->context;
	uint32_t i = t->child[0];

	while (i) {
		enter_context(f, t, i);
		if (t->child[i]) {
			i = t->child[i];
			continue;
		}
		for (;;) {
			if (f->context[i] != NO_FUNCTION)
				t->active[f->context[i]]--;
			if (t->next[i]) {
				i = t->next[i];
				break;
			}
			i = c[i].parent < i ? c[i].parent : 0;
			if (!i)
				return;
		}
	}
}

static int find_inclusive(struct functions *f)
{
	size_t n = f->c->ncontexts + 1;
	struct tree t = {
		.insns = calloc(n, sizeof(*t.insns)),
		.child = calloc(n, sizeof(*t.child)),
		.next = calloc(n, sizeof(*t.next)),
		.active = calloc(f->nfunctions + 1, sizeof(*t.active)),
	};
	int err = t.insns && t.child && t.next && t.active ? 0 : -ENOMEM;

	if (!err) {
		link_tree(f->c, &t);
		add_inclusive(f, &t);
	}
	free(t.insns);
	free(t.child);
	free(t.next);
	free(t.active);
	return err;
}

int functions_find_calls(struct functions *f)
{
	int err = f->c ? name_contexts(f) : 0;

	if (!err)
		err = find_targets(f);
	if (!err)
		err = name_targets(f);
	if (err)
		return err;
	if (f->p)
		err = count_all_calls(f);
	else if (f->c)
		count_context_calls(f);
	return !err && f->c ? find_inclusive(f) : err;
}
