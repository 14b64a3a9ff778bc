// SPDX-License-Identifier: LGPL-2.1-or-later
/* Contexts of a static encoding. */
#include "order.h"
#include "pcce.h"

typedef unsigned __int128 u128;

#define LIMIT	((u128)1 << 126)

static u128 sum(u128 a, u128 b)
{
	return a + b > LIMIT ? LIMIT : a + b;
}

/* Each node gives its contexts to its callees, in topological order. */
static void add_up(struct dep_cc_pcce *p, const struct dep_cc_graph *g,
		   const struct dep_cc_order *o, u128 *contexts)
{
	u32 i, k, n, callee;

	for (i = 0; i < g->nnodes; i++) {
		n = o->node[i];
		if (!contexts[n])
			contexts[n] = 1;
		if (contexts[n] - 1 > p->max_id)
			p->max_id = contexts[n] - 1;
		for (k = o->first[n]; k < o->first[n + 1]; k++) {
			callee = g->edge[o->out[k]].callee;
			if (o->class[o->out[k]] == DEP_CC_FORWARD)
				contexts[callee] = sum(contexts[callee], contexts[n]);
		}
	}
}

int dep_cc_pcce_make(struct dep_cc_pcce *p, const struct dep_cc_graph *g)
{
	struct dep_cc_order o;
	u128 *contexts;
	int err;
	u32 i;

	*p = (struct dep_cc_pcce){ .nodes = g->nnodes - 1, .edges = g->nedges };
	err = dep_cc_order_make(&o, g, true);
	if (err)
		return err;
	contexts = calloc(g->nnodes, sizeof(*contexts));
	if (!contexts) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < g->nedges; i++) {
		if (o.class[i] == DEP_CC_FORWARD)
			continue;
		p->back += o.class[i] == DEP_CC_BACK;
		p->pushes += g->edge[i].calls;
		contexts[g->edge[i].callee] = 1;	/* dummy edge */
	}
	add_up(p, g, &o, contexts);
	p->overflow = p->max_id > UINT64_MAX;
out:
	free(contexts);
	dep_cc_order_free(&o);
	return err;
}
