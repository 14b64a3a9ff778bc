/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A grammar in memory; only the files of Sequitur and its test use this.
 *
 * A rule's body is a ring of nodes that begins and ends at the rule's guard:
 *
 *	guard <-> X <-> Y <-> Z <-> guard
 *
 * Nodes are numbered from 0, the guard of the start rule.  A node that stands for a rule has the
 * number of the rule's guard as its symbol, and a guard has the number of uses of its rule.
 *
 * The digram table has the left node of each digram once.
 */
#ifndef ADEPT_STREAMS_GRAMMAR_H
#define ADEPT_STREAMS_GRAMMAR_H

#include "sequitur.h"

#define SEQ_START	0u		/* guard of the start rule */

/* Kind of a node: the two upper bits of prev. */
#define SEQ_TERMINAL	0u
#define SEQ_RULE	(1u << 30)
#define SEQ_GUARD	(2u << 30)
#define SEQ_FREE	(3u << 30)
#define SEQ_KIND	(3u << 30)

#define SEQ_NODES_MAX	(1u << 30)

/*
 * The symbol of a guard: below, the uses of its rule; above, the filter of digrams.h.  The highest
 * bit is for walk.c.
 */
#define SEQ_USES	((1ull << SEQ_FILTER_SHIFT) - 1)
#define SEQ_FILTER_SHIFT	31u
#define SEQ_FILTER_BITS		32u

/** struct seq_node - a symbol of a rule's body, or a guard; a free node is in a list by @next */
struct seq_node {
	u64 symbol;
	u32 prev, next;
};
_Static_assert(sizeof(struct seq_node) == 16, "a cache line has four nodes");

#define SEQ_LINE	8u		/* digrams in a line: a power of two */

/**
 * struct seq_line - digrams of the table, as many as a cache line has
 * @tag: upper half of the hash; its upper bits are the line wanted
 * @node: left node of each digram; 0: the place is free
 */
struct seq_line {
	u32 tag[SEQ_LINE], node[SEQ_LINE];
};
_Static_assert(sizeof(struct seq_line) == 64, "a line of the table is a cache line");

/*
 * Bytes kept in reserve for each rule, for what is worked out when the grammar is closed: number,
 * length, uses and position (hot.h).
 */
#define SEQ_RULE_BYTES	48u

/*
 * Digrams that wait to be looked at.  See push() about the limit.  With this number, the size of
 * struct sequitur is what it was before digrams waited: it counts for the memory allowed, and so
 * says where a grammar ends.
 */
#define SEQ_PENDING	238u

/*
 * @nodes: nodes that have ever been used; @nfree of them are in the list @free
 * @mapped: bytes of address space of @node
 * @shared: times that a digram was the whole of two rules, and stayed; no input is known that does
 * @dropped: digrams that were not looked at because @pending was full
 * @late: digrams that wait to be entered into the table, see digrams.h; @nlate were put there
 */
struct sequitur {
	struct seq_node *node;
	u32 nodes, free, nfree;
	u32 nrules;
	size_t mapped, limit;
	struct seq_line *line;
	u32 bits;		/* the table has 1 << bits places */
	u64 digrams;
	u64 seed[2];
	struct seq_line late;
	u32 nlate;
	u64 symbols, steps, shared, dropped;
	bool full, closed;
	/*
	 * The digram of @repeat, at the end of the start rule, and symbols that have no nodes are
	 * equal to the nodes from @match to @match_end.  @repeat 0: there is no such digram.
	 */
	u32 repeat, match, match_end;
	u32 npending;
	u32 pending[SEQ_PENDING];
	/* once closed: guards in the order of their numbers; the guard's symbol is the number */
	u32 *rule;
	u64 *length;
};

static inline u32 seq_kind(const struct sequitur *g, u32 n)
{
	return g->node[n].prev & SEQ_KIND;
}

static inline u32 seq_prev(const struct sequitur *g, u32 n)
{
	return g->node[n].prev & ~SEQ_KIND;
}

static inline u32 seq_next(const struct sequitur *g, u32 n)
{
	return g->node[n].next;
}

/** seq_uses() - uses of the rule of @guard */
static inline u64 seq_uses(const struct sequitur *g, u32 guard)
{
	return g->node[guard].symbol & SEQ_USES;
}

static inline u64 seq_table_bytes(u32 bits)
{
	return sizeof(struct seq_line) / SEQ_LINE << bits;
}

/** seq_memory() - bytes in use, those in reserve for rules included */
static inline u64 seq_memory(const struct sequitur *g)
{
	return sizeof(*g) + (u64)g->nodes * sizeof(*g->node) + (u64)g->nrules * SEQ_RULE_BYTES +
	       (g->line ? seq_table_bytes(g->bits) : 0);
}

/* ---- sequitur.c ---- */

/** seq_settle() - give nodes to all symbols of the sequence */
void seq_settle(struct sequitur *g);

#endif
