/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dynamic call graph: the functions that were called, and from where.
 *
 * A node is a function.  Its identity is a key and a generation, both given by the caller: for
 * example the offset in a module and the number of the load, or the address of generated code and a
 * hash of its bytes.  An edge is a site in a caller with one callee.  Nodes and edges are added at
 * their first call and keep their numbers for good.
 *
 * Node 0 is the virtual root.  It calls the first function of each thread, and the function at work
 * when a recording began in the middle.
 */
#ifndef ADEPT_CONTEXT_GRAPH_H
#define ADEPT_CONTEXT_GRAPH_H

#include <stdbool.h>

#include "map.h"

#define DEP_CC_ROOT	0u
/* Default of dep_cc_graph.max: an edge takes about 100 bytes. */
#define DEP_CC_MAX	(1u << 26)

enum dep_cc_kind {
	DEP_CC_CALL,
	DEP_CC_INDIRECT,
	DEP_CC_TAIL,		/* jump to another function, direct or not */
	DEP_CC_START,		/* from the root to the first function of a thread */
	DEP_CC_HANDLER,		/* from the root to a signal handler; never encoded */
	DEP_CC_KINDS,
};

/**
 * struct dep_cc_node - a function
 * @hot: the edge to it with the most heat; DEP_CC_NONE: no edge has any
 * @gone: its code was unmapped; new encodings do without its edges
 */
struct dep_cc_node {
	u64 key;
	u32 generation;
	u32 hot;
	bool gone;
};

/** struct dep_cc_site - a call site; @targets: number of its edges */
struct dep_cc_site {
	u64 key;
	u32 caller, targets;
};

/**
 * struct dep_cc_edge - a site with one of its callees
 * @calls: all calls that were counted
 * @heat: recent samples: halved by each new encoding
 */
struct dep_cc_edge {
	u64 site, calls, heat;
	u32 caller, callee;
	u32 site_number;
	u8 kind;
};

/** struct dep_cc_graph - @max: how many nodes, and how many edges, there may be */
struct dep_cc_graph {
	struct dep_cc_node *node;
	struct dep_cc_site *at;
	struct dep_cc_edge *edge;
	u32 nnodes, nsites, nedges;
	size_t nodes_room, sites_room, edges_room;
	u32 max;
	struct dep_cc_map nodes, sites, edges;
};

/** dep_cc_graph_init() - a graph with the root alone; 0 or -ENOMEM */
int dep_cc_graph_init(struct dep_cc_graph *g);
void dep_cc_graph_free(struct dep_cc_graph *g);

/**
 * dep_cc_graph_node() - find or add a function
 *
 * Return: its number; DEP_CC_NONE without memory, or when there are @max nodes.
 */
u32 dep_cc_graph_node(struct dep_cc_graph *g, u64 key, u32 generation);

/**
 * dep_cc_graph_find() - find an edge
 *
 * Return: its number, or DEP_CC_NONE.
 */
u32 dep_cc_graph_find(const struct dep_cc_graph *g, u32 caller, u64 site, u32 callee,
		      enum dep_cc_kind kind);

/**
 * dep_cc_graph_edge() - find or add an edge
 *
 * Return: its number; DEP_CC_NONE without memory, when there are @max edges, or if a node does not
 * exist.  Calls without an edge can still be made, see dep_cc_state_enter().
 */
u32 dep_cc_graph_edge(struct dep_cc_graph *g, u32 caller, u64 site, u32 callee,
		      enum dep_cc_kind kind);

/** dep_cc_graph_sample() - note that a call by @edge was sampled: it becomes hotter */
void dep_cc_graph_sample(struct dep_cc_graph *g, u32 edge);

/**
 * dep_cc_graph_retire() - the code of @node was unmapped
 *
 * The same code may be loaded again, but with another generation.  Older dictionaries keep its
 * edges.  Calls that are still active stay in the states of threads.
 */
void dep_cc_graph_retire(struct dep_cc_graph *g, u32 node);

#endif
