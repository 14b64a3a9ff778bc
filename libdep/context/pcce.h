/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Precise Calling Context Encoding (Sumner et al., ICSE 2010) of the same graph, for comparison.
 *
 * PCCE encodes a static graph once: all edges, without an overflow rule, and nothing leaves the
 * graph.  The target of a recursive edge has one context more, by a dummy edge from the root.
 * Edges that were never called are not known here, so a real static graph has more contexts.
 */
#ifndef ADEPT_CONTEXT_PCCE_H
#define ADEPT_CONTEXT_PCCE_H

#include "graph.h"

/**
 * struct dep_cc_pcce - an encoding by PCCE
 * @back: recursive edges
 * @pushes: calls by these and of handlers, which use the stack
 * @max_id: the largest id, if it is below 2^126
 * @overflow: it does not fit 64 bits
 */
struct dep_cc_pcce {
	u32 nodes, edges, back;
	u64 pushes;
	unsigned __int128 max_id;
	bool overflow;
};

/** dep_cc_pcce_make() - 0 or -ENOMEM */
int dep_cc_pcce_make(struct dep_cc_pcce *p, const struct dep_cc_graph *g);

#endif
