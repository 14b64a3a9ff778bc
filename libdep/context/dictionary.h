/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What decodes the contexts of one time stamp.
 *
 * A dictionary is a copy: it does not change with the graph, and keeps edges of code that is gone.
 * Nodes have the numbers of the graph.
 *
 * The edges of a dictionary may be forged: the decoder checks each one that it uses.  It cannot
 * check the arrays: code that reads dictionaries from a file must see to it that @contexts has
 * @nnodes elements, that @first rises, and that it ends with the number of elements of @in.
 */
#ifndef ADEPT_CONTEXT_DICTIONARY_H
#define ADEPT_CONTEXT_DICTIONARY_H

#include "graph.h"

/** struct dep_cc_in - an encoded edge; @add: what a call by it adds to the id */
struct dep_cc_in {
	u64 add, site;
	u32 caller;
	u8 kind;
};

/** struct dep_cc_made - the graph when an encoding was made, for tables and curves */
struct dep_cc_made {
	u64 calls;			/* clock; set by the caller */
	u32 triggers;			/* enum dep_cc_trigger; set by the caller */
	u32 nodes, edges;		/* without code that is gone */
	u32 encoded, back, left_out;	/* edges; left_out: by the overflow rule */
	u32 zero;			/* of the encoded edges: need no instrumentation */
};

/**
 * struct dep_cc_dictionary - encodings of all edges into each node
 * @max_id: the largest id of a path of encoded edges; ids above it, up to 2 * max_id + 1, say that
 *	the path begins at the target of the top entry of the ccStack
 * @contexts: numCC of each node
 * @first: of each node, its first edge in @in; one more for the end
 * @in: edges by callee, and by rising @add: the edges to a node divide the range from 0 to
 *	contexts - 1 among them
 */
struct dep_cc_dictionary {
	u32 stamp, nnodes;
	u64 max_id;
	u64 *contexts;
	u32 *first;
	struct dep_cc_in *in;
	struct dep_cc_made made;
};

/**
 * dep_cc_dictionary_find() - the edge by which @node was entered with @id
 *
 * Return: NULL if there is none, or if it has no valid caller or kind.
 */
const struct dep_cc_in *dep_cc_dictionary_find(const struct dep_cc_dictionary *d, u32 node, u64 id);
void dep_cc_dictionary_free(struct dep_cc_dictionary *d);

/** struct dep_cc_history - dictionaries by time stamp; NULL: dropped */
struct dep_cc_history {
	struct dep_cc_dictionary **at;
	u32 n;
	size_t room;
};

/** dep_cc_history_get() - the dictionary of a time stamp; NULL: there is none */
static inline const struct dep_cc_dictionary *dep_cc_history_get(const struct dep_cc_history *h,
								 u32 stamp)
{
	return stamp < h->n ? h->at[stamp] : NULL;
}

/** dep_cc_history_drop() - free a dictionary that no record needs any more */
void dep_cc_history_drop(struct dep_cc_history *h, u32 stamp);
void dep_cc_history_free(struct dep_cc_history *h);

#endif
