/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The digram table: what each symbol of the sequence needs of it.
 *
 * Most lookups find nothing, and most digrams that are entered go again after a few symbols.  A
 * line of the table is seldom in a cache, so both cases avoid it:
 *
 *   A guard has a filter of the digrams that begin or end with its rule: a bit for each, chosen
 *   by the tag.  If the bit is not set, the table does not have the digram.  Bits stay when
 *   digrams go.
 *
 *   A new digram waits in @late, and its line is loaded meanwhile.  It is entered when SEQ_LINE
 *   others have come after it, unless it has gone.  It counts as a digram of the table.
 */
#ifndef ADEPT_STREAMS_DIGRAMS_H
#define ADEPT_STREAMS_DIGRAMS_H

#include <emmintrin.h>

#include "grammar.h"

/* @left and @right: seq_value() of the two nodes */
static inline u32 seq_tag(const struct sequitur *g, u64 left, u64 right)
{
	unsigned __int128 h = (unsigned __int128)(left ^ g->seed[0]) * (right ^ g->seed[1]);

	return (u32)(((u64)h ^ (u64)(h >> 64)) * 0x9e3779b97f4a7c15ull >> 32);
}

static inline u64 seq_value(const struct sequitur *g, u32 n)
{
	return g->node[n].symbol + seq_kind(g, n);
}

static inline u32 seq_digram_tag(const struct sequitur *g, u32 a)
{
	return seq_tag(g, seq_value(g, a), seq_value(g, seq_next(g, a)));
}

/* Index of the line where the digram with @tag belongs, of a table of 1 << @bits places. */
static inline u32 seq_home(u32 bits, u32 tag)
{
	return tag / SEQ_LINE >> (32 - bits);
}

/** seq_digram_prefetch() - the line of the digram with @tag will be needed soon */
static inline void seq_digram_prefetch(const struct sequitur *g, u32 tag)
{
	__builtin_prefetch(&g->line[seq_home(g->bits, tag)], 1);
}

/* The filter of the rule that node @n stands for. */
static inline u64 *seq_filter(const struct sequitur *g, u32 n)
{
	return &g->node[g->node[n].symbol].symbol;
}

static inline u64 seq_filter_bit(u32 number)
{
	return 1ull << (SEQ_FILTER_SHIFT + number % SEQ_FILTER_BITS);
}

/* Set the bits of the digram of @a. */
static inline void seq_filter_add(struct sequitur *g, u32 a, u32 tag)
{
	u32 b = seq_next(g, a);

	if (seq_kind(g, a) == SEQ_RULE)
		*seq_filter(g, a) |= seq_filter_bit(tag);
	if (seq_kind(g, b) == SEQ_RULE)
		*seq_filter(g, b) |= seq_filter_bit(tag / SEQ_FILTER_BITS);
}

/* False: the table does not have the digram of @a. */
static inline bool seq_filter_has(const struct sequitur *g, u32 a, u32 tag)
{
	u32 b = seq_next(g, a);

	if (seq_kind(g, a) == SEQ_RULE && !(*seq_filter(g, a) & seq_filter_bit(tag)))
		return false;
	return seq_kind(g, b) != SEQ_RULE ||
	       (*seq_filter(g, b) & seq_filter_bit(tag / SEQ_FILTER_BITS));
}

/* A bit for each of @v that is @n. */
static inline u32 seq_equal(const u32 v[SEQ_LINE], u32 n)
{
	const __m128i *p = (const __m128i *)v, x = _mm_set1_epi32((int)n);
	__m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(p), x);
	__m128i high = _mm_cmpeq_epi32(_mm_loadu_si128(p + 1), x);

	return (u32)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high),
						       _mm_setzero_si128()));
}

/* Put a digram into the first free place from its line on. */
static inline void seq_line_put(struct seq_line *line, u32 bits, u32 node, u32 tag)
{
	u32 mask = (1u << bits) / SEQ_LINE - 1, i = seq_home(bits, tag), free, place;

	while (!(free = seq_equal(line[i].node, 0)))
		i = (i + 1) & mask;
	place = (u32)__builtin_ctz(free);
	line[i].node[place] = node;
	line[i].tag[place] = tag;
}

/* Enter the digram of @late at @place. */
static inline void seq_enter_late(struct sequitur *g, u32 place)
{
	u32 a = g->late.node[place], tag = g->late.tag[place];

	if (!a)
		return;
	g->late.node[place] = 0;
	seq_line_put(g->line, g->bits, a, tag);
	seq_filter_add(g, a, tag);
}

/**
 * seq_digram_put() - enter the digram of @a, which the table does not have, later
 * @tag: of the digram
 */
static inline void seq_digram_put(struct sequitur *g, u32 a, u32 tag)
{
	u32 i;

	if (g->digrams + 2 > 1ull << g->bits) {
		g->dropped++;	/* a search ends at a free place */
		return;
	}
	g->digrams++;
	i = g->nlate++ % SEQ_LINE;
	seq_enter_late(g, i);
	g->late.node[i] = a;
	g->late.tag[i] = tag;
	seq_digram_prefetch(g, tag);
}

static inline bool seq_same_digram(const struct sequitur *g, u32 a, u32 m)
{
	const struct seq_node *x = &g->node[a], *y = &g->node[x->next];
	const struct seq_node *p = &g->node[m], *q = &g->node[p->next];

	return p->symbol == x->symbol && q->symbol == y->symbol &&
	       !((p->prev ^ x->prev) & SEQ_KIND) && !((q->prev ^ y->prev) & SEQ_KIND);
}

/* The place in @line of the digram that begins at @a, or NULL. */
static inline u32 *seq_line_find(const struct sequitur *g, struct seq_line *line, u32 a, u32 tag)
{
	u32 equal = seq_equal(line->tag, tag), *node;

	for (; equal; equal &= equal - 1) {
		node = &line->node[__builtin_ctz(equal)];
		if (*node && seq_same_digram(g, a, *node))
			return node;
	}
	return NULL;
}

/**
 * seq_digram_find() - where the table has the digram that begins at @a; NULL if nowhere
 * @tag: of the digram
 */
static inline u32 *seq_digram_find(struct sequitur *g, u32 a, u32 tag)
{
	u32 mask = (1u << g->bits) / SEQ_LINE - 1, i, *at = seq_line_find(g, &g->late, a, tag);

	if (at)
		return at;
	if (!seq_filter_has(g, a, tag))
		return NULL;
	for (i = seq_home(g->bits, tag);; i = (i + 1) & mask) {
		at = seq_line_find(g, &g->line[i], a, tag);
		if (at || seq_equal(g->line[i].node, 0))
			return at;
	}
}

/* ---- digrams.c ---- */

int seq_digrams_init(struct sequitur *g);
/** seq_digrams_flush() - enter the digrams that wait */
void seq_digrams_flush(struct sequitur *g);
/** seq_digrams_enlarge() - double the table; false: there is no memory for it */
bool seq_digrams_enlarge(struct sequitur *g);
/** seq_digram_drop() - remove the digram of @a, if the table has it at @a; false: it has not */
bool seq_digram_drop(struct sequitur *g, u32 a);

#define SEQ_SPARE_DIGRAMS	64u	/* that one symbol of the sequence can add */

/** seq_digrams_room() - make room for a few digrams more; false: the memory is used up */
static inline bool seq_digrams_room(struct sequitur *g)
{
	u64 places = 1ull << g->bits, want = g->digrams + SEQ_SPARE_DIGRAMS;

	if (want <= places / 4 * 3 || seq_digrams_enlarge(g))
		return true;
	return want <= places / 8 * 7;
}

#endif
