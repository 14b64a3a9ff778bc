/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encoding of a call graph: what each call adds to the context id.
 *
 *	in topological order: numCC(n) = the sum of numCC(caller) over the encoded edges to n;
 *			      1 if there is none: n is called by the root or by unencoded edges
 *	edge e to n:	      add(e) = the sum of numCC(caller) over the hotter edges to n
 *	maxID = the largest numCC, minus 1
 *
 * The hottest edge to a node adds 0, so its calls need no instrumentation.  On an acyclic path the
 * sum of what its edges add is less than numCC of its end, and names the path.
 *
 * Invariants: the encoded edges have no cycle.  maxID < 2^63, so flagged ids, up to 2 * maxID + 1,
 * fit a word.  If the contexts of a node exceed that, the coldest edges to it are left out.
 */
#ifndef ADEPT_CONTEXT_ENCODE_H
#define ADEPT_CONTEXT_ENCODE_H

#include "dictionary.h"

/* At most so many contexts of a node. */
#define DEP_CC_CONTEXTS_MAX	(1ull << 63)

enum dep_cc_how {
	DEP_CC_ENCODED,
	DEP_CC_RECURSIVE,	/* back edge */
	DEP_CC_LEFT_OUT,	/* by the overflow rule: may be encoded next time */
	DEP_CC_NEVER,		/* to a handler, or of code that is gone */
	DEP_CC_NEW,		/* first called after the encoding was made */
};

/**
 * struct dep_cc_code - what a call by an edge does
 * @add: what an encoded edge adds
 * @caller: of the edge
 * @saves: the id is saved at the call and restored from there, since the return cannot know what
 *	to subtract: the site has several targets, or a tail edge below it adds something
 */
struct dep_cc_code {
	u64 add;
	u32 caller;
	u8 how;
	bool saves;
};

/** struct dep_cc_encoding - the encoding at work; @dictionary belongs to the history */
struct dep_cc_encoding {
	struct dep_cc_code *code;
	u32 nedges;
	const struct dep_cc_dictionary *dictionary;
};

static inline struct dep_cc_code dep_cc_code_of(const struct dep_cc_encoding *e, u32 edge)
{
	return edge < e->nedges ? e->code[edge] : (struct dep_cc_code){ .how = DEP_CC_NEW };
}

/**
 * dep_cc_encode() - make a new encoding of all edges
 * @e: replaced; all 0 at first
 * @h: gets the dictionary, whose time stamp is its place
 * @limit: number of contexts of a node, at most DEP_CC_CONTEXTS_MAX
 *
 * Halves the heat of all edges.  Every state that is at work must be given to
 * dep_cc_state_translate() before its next call.
 *
 * Return: 0, -EINVAL for a bad limit, or -ENOMEM, and nothing is changed.
 */
int dep_cc_encode(struct dep_cc_encoding *e, struct dep_cc_history *h, struct dep_cc_graph *g,
		  u64 limit);
void dep_cc_encoding_free(struct dep_cc_encoding *e);

#endif
