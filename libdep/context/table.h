/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One row of the paper's table 1. */
#ifndef ADEPT_CONTEXT_TABLE_H
#define ADEPT_CONTEXT_TABLE_H

#include "pcce.h"
#include "state.h"

/* An indirect site with more targets needs a hash table: the chain of compares is too long. */
#define DEP_CC_CHAIN_MAX	4

/**
 * struct dep_cc_table - what a program's contexts need
 * @counts: of all states
 * @nodes, @edges: called at least once, also of code that is gone; without the root
 * @max_id: largest one of all encodings with a dictionary in the history
 * @encodings: how often the graph was encoded, without the first, empty one
 * @indirect_sites, @wide_sites: sites with indirect calls; those with more than DEP_CC_CHAIN_MAX
 *	targets
 * @mean_depth: of the ccStack over all calls; @mean_compressed: with equal neighbours counted
 */
struct dep_cc_table {
	struct dep_cc_counts counts;
	u32 nodes, edges;
	u64 max_id;
	u32 encodings;
	u32 indirect_sites, wide_sites;
	double mean_depth, mean_compressed;
	struct dep_cc_pcce pcce;
};

/** dep_cc_table_make() - 0 or -ENOMEM */
int dep_cc_table_make(struct dep_cc_table *t, const struct dep_cc_graph *g,
		      const struct dep_cc_history *h, const struct dep_cc_counts *counts);

#endif
