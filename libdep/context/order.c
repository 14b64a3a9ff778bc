// SPDX-License-Identifier: LGPL-2.1-or-later
/* Depth-first search over the call graph. */
#include "order.h"

enum { NOT_SEEN, ON_STACK, DONE };

/**
 * struct search - a search at work
 * @next: of each node, its edge in dep_cc_order.out that is tried next
 * @placed: nodes in the order so far, from its end
 */
struct search {
	const struct dep_cc_graph *g;
	struct dep_cc_order *o;
	u32 *next, *stack;
	u8 *seen;
	u32 placed;
};

static int prepare(struct search *s)
{
	const struct dep_cc_graph *g = s->g;
	struct dep_cc_order *o = s->o;
	u32 i;

	o->node = calloc(g->nnodes, sizeof(u32));
	o->class = calloc(g->nedges + 1ull, 1);
	o->first = calloc(g->nnodes + 1ull, sizeof(u32));
	o->out = calloc(g->nedges + 1ull, sizeof(u32));
	s->next = calloc(g->nnodes, sizeof(u32));
	s->stack = calloc(g->nnodes, sizeof(u32));
	s->seen = calloc(g->nnodes, 1);
	if (!o->node || !o->class || !o->first || !o->out || !s->next || !s->stack || !s->seen)
		return -ENOMEM;
	for (i = 0; i < g->nedges; i++)
		o->first[g->edge[i].caller + 1]++;
	for (i = 0; i < g->nnodes; i++) {
		o->first[i + 1] += o->first[i];
		s->next[i] = o->first[i];
	}
	for (i = 0; i < g->nedges; i++)
		o->out[s->next[g->edge[i].caller]++] = i;
	for (i = 0; i < g->nnodes; i++)
		s->next[i] = o->first[i];
	return 0;
}

static bool left(const struct dep_cc_graph *g, const struct dep_cc_edge *e, bool all)
{
	return e->kind == DEP_CC_HANDLER ||
	       (!all && (g->node[e->caller].gone || g->node[e->callee].gone));
}

static void visit(struct search *s, u32 from, bool all)
{
	const struct dep_cc_edge *e;
	u32 depth = 0, n, edge;

	s->stack[depth++] = from;
	s->seen[from] = ON_STACK;
	while (depth) {
		n = s->stack[depth - 1];
		if (s->next[n] == s->o->first[n + 1]) {
			s->seen[n] = DONE;
			s->o->node[s->g->nnodes - ++s->placed] = n;
			depth--;
			continue;
		}
		edge = s->o->out[s->next[n]++];
		e = s->g->edge + edge;
		if (left(s->g, e, all)) {
			s->o->class[edge] = DEP_CC_LEFT;
		} else if (s->seen[e->callee] == ON_STACK) {
			s->o->class[edge] = DEP_CC_BACK;
		} else if (s->seen[e->callee] == NOT_SEEN) {
			s->seen[e->callee] = ON_STACK;
			s->stack[depth++] = e->callee;
		}
	}
}

int dep_cc_order_make(struct dep_cc_order *o, const struct dep_cc_graph *g, bool all)
{
	struct search s = { .g = g, .o = o };
	int err;
	u32 i;

	*o = (struct dep_cc_order){ 0 };
	err = prepare(&s);
	for (i = 0; !err && i < g->nnodes; i++)
		if (s.seen[i] == NOT_SEEN)
			visit(&s, i, all);
	free(s.next);
	free(s.stack);
	free(s.seen);
	if (err)
		dep_cc_order_free(o);
	return err;
}

void dep_cc_order_free(struct dep_cc_order *o)
{
	free(o->node);
	free(o->class);
	free(o->first);
	free(o->out);
	*o = (struct dep_cc_order){ 0 };
}
