// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Natural loops of the executed graph.
 *
 * The graph of a function has its executed basic blocks.  Its edges are the executed branches
 * between them, the steps from a block to the next one, and the steps from a call to the
 * instruction behind it, as often as calls returned there.  A back edge goes to a block that
 * dominates its source: that block is the header of a loop, which has all blocks from which a back
 * edge can be reached without passing the header.
 *
 * Blocks that are reached only from outside in the middle of the function (landing pads of
 * exceptions) are not part of the graph, so they are in no loop.  Cycles with several entries are
 * no natural loops, and left out.
 */
#include <errno.h>
#include <stdlib.h>

#include "profile.h"

#define NONE		UINT32_MAX
#define PASSES_MAX	64u		/* for the dominators of one function */
#define STEPS_MAX	(1u << 26)	/* for the dominators and loops of one function */

struct arc {
	uint32_t from, to;	/* blocks */
	uint64_t count;
};

/* All functions, and the state of the search in one of them. */
struct graph {
	const struct merged *m;
	const struct blocks *b;
	const struct functions *f;
	uint32_t *function;	/* by block */
	struct arc *out, *in;	/* all arcs, sorted by @from; by @to */
	uint32_t *first_out, *first_in;	/* by block: index of its first arc */
	size_t narcs;
	uint32_t *order;	/* blocks of the function in reverse postorder */
	uint32_t *number;	/* by block: index in @order; NONE: not reached */
	uint32_t *idom;		/* by index in @order */
	uint32_t *mark;		/* by block: the last loop that has it */
	uint32_t *stack, *next;
	uint32_t nmarks;
	uint64_t steps;		/* in the function that is searched */
};

/* ---- the arcs ---- */

static uint32_t block_with(const struct graph *g, struct site site)
{
	size_t insn = merged_at(g->m, site), lo = 0, hi = g->b->n, mid;

	if (insn == g->m->ninsns || site_compare(g->m->insn[insn].at, site))
		return NONE;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (g->b->block[mid].first <= insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo - 1;
}

static void add_arc(struct graph *g, uint32_t from, uint32_t to, uint64_t count)
{
	if (from == NONE || to == NONE || !count || g->function[from] == NO_FUNCTION ||
	    g->function[from] != g->function[to])
		return;
	g->out[g->narcs++] = (struct arc){ from, to, count };
}

/* Add the steps from each block to the one behind it. */
static void add_steps(struct graph *g, const uint64_t *returned, const uint64_t *left)
{
	const struct insn_row *last;
	struct site next;
	uint64_t count;
	size_t i, to;

	for (i = 0; i < g->b->n; i++) {
		last = &g->m->insn[g->b->block[i].first + g->b->block[i].n - 1];
		next = (struct site){ last->at.addr + last->size, last->at.unit };
		to = blocks_at(g->b, g->m, next);
		if (to == g->b->n)
			continue;
		if (last->branch == DEP_BRANCH_CALL || last->branch == DEP_BRANCH_CALL_INDIRECT)
			count = returned[to];
		else if (last->branch == DEP_BRANCH_NONE)
			count = last->count > left[to] ? last->count - left[to] : 0;
		else
			continue;
		add_arc(g, (uint32_t)i, (uint32_t)to, count);
	}
}

static int add_arcs(struct graph *g)
{
	uint64_t *returned = calloc(g->b->n + 1, sizeof(*returned));
	uint64_t *left = calloc(g->b->n + 1, sizeof(*left));
	const struct edge_row *e;
	uint32_t from, to;
	size_t i;

	for (i = 0; returned && left && i < g->m->nedges; i++) {
		e = &g->m->edge[i];
		from = e->kind == DEP_EDGE_ENTERED ? NONE : block_with(g, e->from);
		to = e->kind == DEP_EDGE_LEFT ? NONE : block_with(g, e->to);
		if (e->kind == DEP_BRANCH_RETURN && to != NONE)
			returned[to] += e->count;
		else if (e->kind == DEP_EDGE_LEFT && from != NONE)
			left[from] += e->count;
		else if (e->kind != DEP_BRANCH_CALL && e->kind != DEP_BRANCH_CALL_INDIRECT)
			add_arc(g, from, to, e->count);
	}
	if (returned && left)
		add_steps(g, returned, left);
	i = returned && left;
	free(returned);
	free(left);
	return i ? 0 : -ENOMEM;
}

static int by_from(const void *pa, const void *pb)
{
	const struct arc *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static int by_to(const void *pa, const void *pb)
{
	const struct arc *a = pa, *b = pb;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static void index_arcs(struct graph *g)
{
	size_t i, k = 0, l = 0;

	for (i = 0; i < g->narcs; i++)
		g->in[i] = g->out[i];
	qsort(g->out, g->narcs, sizeof(*g->out), by_from);
	qsort(g->in, g->narcs, sizeof(*g->in), by_to);
	for (i = 0; i <= g->b->n; i++) {
		while (k < g->narcs && g->out[k].from < i)
			k++;
		while (l < g->narcs && g->in[l].to < i)
			l++;
		g->first_out[i] = (uint32_t)k;
		g->first_in[i] = (uint32_t)l;
	}
}

/* ---- dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" ---- */

/* Number the blocks that can be reached from @entry in reverse postorder; return their number. */
static uint32_t number_blocks(struct graph *g, uint32_t entry)
{
	uint32_t depth = 0, n = 0, at, i, k;

	g->stack[depth++] = entry;
	g->number[entry] = 0;
	g->next[entry] = g->first_out[entry];
	while (depth) {
		at = g->stack[depth - 1];
		if (g->next[at] == g->first_out[at + 1]) {
			g->order[n++] = at;
			depth--;
			continue;
		}
		k = g->out[g->next[at]++].to;
		if (g->number[k] != NONE)
			continue;
		g->number[k] = 0;
		g->next[k] = g->first_out[k];
		g->stack[depth++] = k;
	}
	for (i = 0; i < n / 2; i++) {
		k = g->order[i];
		g->order[i] = g->order[n - 1 - i];
		g->order[n - 1 - i] = k;
	}
	for (i = 0; i < n; i++)
		g->number[g->order[i]] = i;
	return n;
}

static uint32_t common(struct graph *g, uint32_t a, uint32_t b)
{
	for (; a != b; g->steps++) {
		if (a > b)
			a = g->idom[a];
		else
			b = g->idom[b];
	}
	return a;
}

static bool find_dominators(struct graph *g, uint32_t n)
{
	uint32_t i, k, at, pass, best;
	bool changed = true;

	g->idom[0] = 0;
	for (i = 1; i < n; i++)
		g->idom[i] = NONE;
	for (pass = 0; changed && pass < PASSES_MAX; pass++) {
		changed = false;
		for (i = 1; i < n; i++) {
			best = NONE;
			at = g->order[i];
			for (k = g->first_in[at]; k < g->first_in[at + 1]; k++) {
				uint32_t p = g->number[g->in[k].from];

				if (p != NONE && g->idom[p] != NONE)
					best = best == NONE ? p : common(g, best, p);
			}
			if (g->steps > STEPS_MAX)
				return false;
			changed |= best != g->idom[i];
			g->idom[i] = best;
		}
	}
	return !changed;
}

static bool dominates(struct graph *g, uint32_t a, uint32_t b)
{
	for (; b > a; g->steps++)
		b = g->idom[b];
	return a == b;
}

/* ---- loops ---- */

static uint64_t block_insns(const struct graph *g, uint32_t block)
{
	const struct block *b = &g->b->block[block];
	uint64_t insns = 0;
	size_t i;

	for (i = 0; i < b->n; i++)
		insns += g->m->insn[b->first + i].count;
	return insns;
}

static int add_loop(struct loops *l, const struct loop *loop)
{
	size_t room = l->room ? 2 * l->room : 256;
	struct loop *more;

	if (l->n == l->room) {
		more = reallocarray(l->loop, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->loop = more;
		l->room = room;
	}
	l->loop[l->n++] = *loop;
	return 0;
}

/* Find the loop with header @header, if it is one. */
static int find_loop(struct graph *g, struct loops *l, uint32_t header)
{
	uint32_t depth = 0, at, k, p, number = g->number[header];
	uint64_t back = 0;
	struct loop loop;

	g->mark[header] = ++g->nmarks;
	for (k = g->first_in[header]; k < g->first_in[header + 1]; k++) {
		p = g->in[k].from;
		if (g->steps > STEPS_MAX)
			return 0;
		if (g->number[p] == NONE || !dominates(g, number, g->number[p]))
			continue;
		back += g->in[k].count;
		if (g->mark[p] != g->nmarks) {
			g->mark[p] = g->nmarks;
			g->stack[depth++] = p;
		}
	}
	if (!back)
		return 0;
	loop = (struct loop){ .header = g->m->insn[g->b->block[header].first].at,
			      .function = g->function[header],
			      .iterations = g->b->block[header].count,
			      .insns = block_insns(g, header) };
	loop.entered = loop.iterations > back ? loop.iterations - back : 0;
	while (depth) {
		at = g->stack[--depth];
		loop.insns += block_insns(g, at);
		for (k = g->first_in[at]; k < g->first_in[at + 1]; k++) {
			p = g->in[k].from;
			if (++g->steps > STEPS_MAX)
				return 0;
			if (g->number[p] == NONE || g->mark[p] == g->nmarks)
				continue;
			g->mark[p] = g->nmarks;
			g->stack[depth++] = p;
		}
	}
	return add_loop(l, &loop);
}

static int find_in_function(struct graph *g, struct loops *l, uint32_t entry)
{
	uint32_t n = number_blocks(g, entry), i;
	bool found;
	int err = 0;

	g->steps = 0;
	found = find_dominators(g, n);
	for (i = 0; i < n && !err && found && g->steps <= STEPS_MAX; i++)
		err = find_loop(g, l, g->order[i]);
	l->unsearched += !found || g->steps > STEPS_MAX;
	return err;
}

static int by_insns(const void *pa, const void *pb)
{
	const struct loop *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return site_compare(a->header, b->header);
}

static int allocate(struct graph *g)
{
	size_t n = g->b->n + 2, arcs = g->m->nedges + g->b->n + 1, i;

	g->function = calloc(n, sizeof(*g->function));
	g->out = calloc(arcs, sizeof(*g->out));
	g->in = calloc(arcs, sizeof(*g->in));
	g->first_out = calloc(n, sizeof(*g->first_out));
	g->first_in = calloc(n, sizeof(*g->first_in));
	g->order = calloc(n, sizeof(*g->order));
	g->number = calloc(n, sizeof(*g->number));
	g->idom = calloc(n, sizeof(*g->idom));
	g->mark = calloc(n, sizeof(*g->mark));
	g->stack = calloc(n, sizeof(*g->stack));
	g->next = calloc(n, sizeof(*g->next));
	if (!g->function || !g->out || !g->in || !g->first_out || !g->first_in || !g->order ||
	    !g->number || !g->idom || !g->mark || !g->stack || !g->next)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		g->number[i] = NONE;
	for (i = 0; i < g->b->n; i++)
		g->function[i] = functions_in(g->f, g->m->insn[g->b->block[i].first].at);
	return 0;
}

static void release(struct graph *g)
{
	free(g->function);
	free(g->out);
	free(g->in);
	free(g->first_out);
	free(g->first_in);
	free(g->order);
	free(g->number);
	free(g->idom);
	free(g->mark);
	free(g->stack);
	free(g->next);
}

int loops_find(struct loops *l, const struct merged *m, const struct blocks *b,
	       const struct functions *f)
{
	struct graph g = { .m = m, .b = b, .f = f };
	const struct function *all;
	size_t i, n = functions_all(f, &all), entry;
	int err;

	*l = (struct loops){ 0 };
	err = b->n >= NONE - 2 ? -ENOMEM : allocate(&g);
	if (!err)
		err = add_arcs(&g);
	if (!err)
		index_arcs(&g);
	for (i = 0; i < n && !err; i++) {
		entry = blocks_at(b, m, functions_start(f, (uint32_t)i));
		if (entry < b->n)
			err = find_in_function(&g, l, (uint32_t)entry);
	}
	release(&g);
	if (l->n)
		qsort(l->loop, l->n, sizeof(*l->loop), by_insns);
	return err;
}

int profile_loops(const struct profile_view *v, struct loops *l)
{
	struct blocks b = { 0 };
	struct merged m;
	int err = merged_make(&m, v, v->p);

	if (!err)
		err = blocks_make(&b, &m);
	if (!err)
		err = loops_find(l, &m, &b, v->f);
	blocks_free(&b);
	merged_free(&m);
	return err;
}

void loops_free(struct loops *l)
{
	free(l->loop);
}
