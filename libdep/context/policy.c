// SPDX-License-Identifier: LGPL-2.1-or-later
/* When to encode the graph anew. */
#include "policy.h"

static bool share_at_least(u64 part, u64 all, u64 of, u64 unit)
{
	return (unsigned __int128)part * unit >= (unsigned __int128)all * of;
}

u32 dep_cc_policy_triggers(const struct dep_cc_policy *p, const struct dep_cc_since *s)
{
	u32 triggers = 0;
	u64 edges = (u64)s->edges + s->new_edges;

	if (s->calls < p->calls || s->calls < edges * p->calls_per_edge)
		return 0;
	if (s->new_edges > p->edges && s->new_edges * 100ull > (u64)s->edges * p->edges_percent)
		triggers |= DEP_CC_TRIGGER_EDGES;
	if (!share_at_least(s->calls, s->pushes, 1000000, p->pushes_per_million))
		triggers |= DEP_CC_TRIGGER_STACK;
	if (s->samples && s->samples >= p->samples &&
	    share_at_least(s->misplaced, s->samples, p->hot_percent, 100))
		triggers |= DEP_CC_TRIGGER_HOT;
	return triggers;
}

void dep_cc_policy_sample(struct dep_cc_since *s, struct dep_cc_graph *g,
			  const struct dep_cc_encoding *e, u32 edge)
{
	struct dep_cc_code code = dep_cc_code_of(e, edge);

	dep_cc_graph_sample(g, edge);
	s->samples++;
	if (g->node[g->edge[edge].callee].hot == edge)
		s->misplaced += (code.how == DEP_CC_ENCODED && code.add) ||
				code.how == DEP_CC_LEFT_OUT;
}
