/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Back edges and topological order of the call graph. */
#ifndef ADEPT_CONTEXT_ORDER_H
#define ADEPT_CONTEXT_ORDER_H

#include "graph.h"

enum dep_cc_class {
	DEP_CC_FORWARD,
	DEP_CC_BACK,		/* closes a cycle */
	DEP_CC_LEFT,		/* not in the order: to a handler, or of code that is gone */
};

/**
 * struct dep_cc_order - the graph without its back edges, in order
 * @node: all nodes; each forward edge goes from an earlier to a later one
 * @class: enum dep_cc_class of each edge
 * @first: of each node, its first edge in @out; one more for the end
 * @out: all edges by caller, in the order of their first calls
 */
struct dep_cc_order {
	u32 *node;
	u8 *class;
	u32 *first, *out;
};

/**
 * dep_cc_order_make() - search the graph depth first
 * @all: also edges of code that is gone
 *
 * The search begins at the root and then at each node not seen yet, in the order of their numbers.
 * Edges are taken in the order of their first calls.  An edge to a node on the search's stack is a
 * back edge.  So the same graph has the same order, and a new edge is tried after older ones.  The
 * stack of the search is on the heap: a chain of calls may be of any length.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_cc_order_make(struct dep_cc_order *o, const struct dep_cc_graph *g, bool all);
void dep_cc_order_free(struct dep_cc_order *o);

#endif
