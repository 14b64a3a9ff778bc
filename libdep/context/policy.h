/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When to encode the graph anew.
 *
 * The clock counts calls, not time, so the same calls have the same encodings.  A new encoding
 * costs about 100 ns for each edge, so the time between two of them grows with the graph.
 */
#ifndef ADEPT_CONTEXT_POLICY_H
#define ADEPT_CONTEXT_POLICY_H

#include "encode.h"

/** enum dep_cc_trigger - reasons for a new encoding, as bits */
enum dep_cc_trigger {
	DEP_CC_TRIGGER_EDGES = 1,	/* many new edges */
	DEP_CC_TRIGGER_STACK = 2,	/* many calls by new edges */
	DEP_CC_TRIGGER_HOT = 4,		/* many samples are of edges that should add 0 */
};

/**
 * struct dep_cc_policy - limits
 * @calls, @calls_per_edge: no new encoding before so many calls, and so many for each edge
 * @edges, @edges_percent: EDGES: more new edges than that, and than this share of the old ones
 * @pushes_per_million: STACK: more such calls in a million
 * @hot_percent: HOT: at least this share of the samples
 * @samples: HOT: not with fewer samples
 */
struct dep_cc_policy {
	u64 calls;
	u32 calls_per_edge;
	u32 edges, edges_percent;
	u32 pushes_per_million;
	u32 hot_percent;
	u32 samples;
};

#define DEP_CC_POLICY_DEFAULT ((struct dep_cc_policy){				\
	.calls = 4096, .calls_per_edge = 16, .edges = 64, .edges_percent = 10,	\
	.pushes_per_million = 1000, .hot_percent = 20, .samples = 32 })

/**
 * struct dep_cc_since - what happened since the last encoding
 * @pushes: growth of dep_cc_counts.fresh.  Calls by back edges are not in it, since a new encoding
 *	would not encode them either, nor those by edges that were left out: if these are hot, they
 *	are @misplaced.
 * @edges, @new_edges: that were encoded, and that came since
 * @misplaced: samples of the hottest edge to its callee, if that is encoded, but not as 0, or was
 *	left out
 */
struct dep_cc_since {
	u64 calls, pushes, samples, misplaced;
	u32 edges, new_edges;
};

/**
 * dep_cc_policy_triggers() - reasons for a new encoding
 *
 * Return: bits of enum dep_cc_trigger; 0: none, or it is too early.
 */
u32 dep_cc_policy_triggers(const struct dep_cc_policy *p, const struct dep_cc_since *s);

/** dep_cc_policy_sample() - note that a call by @edge was sampled, in @s and in the graph */
void dep_cc_policy_sample(struct dep_cc_since *s, struct dep_cc_graph *g,
			  const struct dep_cc_encoding *e, u32 edge);

#endif
