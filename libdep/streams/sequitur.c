// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sequitur: the sequence is read and the grammar built.
 *
 * A new symbol is put at the end of the start rule.  Then each new pair of neighbours, a digram, is
 * looked up:
 *
 *   not in the table		enter it
 *   the whole of a rule	put the rule in its place
 *   anywhere else		make a rule of it, and put it in both places
 *
 * Each replacement makes new pairs of neighbours, which wait in a list until they are looked at in
 * turn: a recursion could be as deep as the grammar.  A replacement takes uses from the two symbols
 * of the digram.  A rule that has one use left has it in the body of the rule just used, so its own
 * body is put there and the rule is gone.
 *
 * Most sequences repeat parts that are longer than two symbols.  Read symbol by symbol, a repeated
 * part of a rule's body gets a rule of two symbols, then one of three that takes the place of the
 * first, and so on.  The rule that is left in the end is made at once instead: while symbols are
 * the same as those behind the place of the first digram, they are only compared:
 *
 *	some rule	.. p [m t u e] v ..	the next symbol is compared with v
 *	start rule	.. q [a b]		t and u have no nodes of their own
 *
 * When a symbol differs, or the body ends, the nodes from m to e move into a new rule.  The digrams
 * between them stay in the table.
 *
 * Of a run of equal symbols (aaa) the table has the left digram.  If that is taken away, its
 * neighbours are looked at again.  So a run of four is always seen as two equal digrams.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "digrams.h"

/* Nodes that one symbol of the sequence can need; see replace(). */
#define SPARE_NODES	64u
#define RULE_NODES	2u

/* Symbols between one that is added and the pair whose line of the digram table is loaded. */
#define AHEAD		12u

struct sequitur *sequitur_new(size_t memory)
{
	struct sequitur *g;
	u64 nodes = memory / sizeof(struct seq_node);
	void *p;

	if (memory < SEQUITUR_MEMORY_MIN) {
		errno = EINVAL;
		return NULL;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->limit = memory;
	g->mapped = (nodes < SEQ_NODES_MAX ? nodes : SEQ_NODES_MAX) * sizeof(struct seq_node);
	/* Pages are used from the first one on, as nodes are. */
	p = mmap(NULL, g->mapped, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || seq_digrams_init(g)) {
		if (p != MAP_FAILED)
			munmap(p, g->mapped);
		free(g);
		errno = ENOMEM;
		return NULL;
	}
	g->node = p;
	madvise(p, g->mapped, MADV_HUGEPAGE);
	g->node[SEQ_START] = (struct seq_node){ 1, SEQ_START | SEQ_GUARD, SEQ_START };
	g->nodes = 1;
	g->nrules = 1;
	return g;
}

void sequitur_free(struct sequitur *g)
{
	if (!g)
		return;
	munmap(g->node, g->mapped);
	if (g->line)
		munmap(g->line, seq_table_bytes(g->bits));
	free(g->rule);
	free(g->length);
	free(g);
}

void sequitur_size(const struct sequitur *g, struct sequitur_size *out)
{
	*out = (struct sequitur_size){
		.symbols = g->symbols,
		.rules = g->nrules,
		.body = g->nodes - g->nfree - g->nrules,
		.memory = seq_memory(g),
		.steps = g->steps,
	};
}

/* ---- nodes ---- */

/* True if @n nodes and a rule fit into the memory. */
static bool nodes_left(const struct sequitur *g, u32 n)
{
	u32 more = n > g->nfree ? n - g->nfree : 0;
	u64 memory = seq_memory(g) + (u64)more * sizeof(*g->node) + SEQ_RULE_BYTES;

	return memory <= g->limit && g->nodes + more <= SEQ_NODES_MAX;
}

static u32 new_node(struct sequitur *g, u64 symbol, u32 kind)
{
	u32 n;

	if (g->nfree) {
		n = g->free;
		g->free = g->node[n].next;
		g->nfree--;
	} else {
		n = g->nodes++;
	}
	g->node[n] = (struct seq_node){ symbol, kind, 0 };
	return n;
}

static void free_node(struct sequitur *g, u32 n)
{
	g->node[n] = (struct seq_node){ 0, SEQ_FREE, g->free };
	g->free = n;
	g->nfree++;
}

static void join(struct sequitur *g, u32 a, u32 b)
{
	g->node[a].next = b;
	g->node[b].prev = (g->node[b].prev & SEQ_KIND) | a;
}

static bool is_rule(const struct sequitur *g, u32 n)
{
	return seq_kind(g, n) == SEQ_RULE;
}

static bool is_guard(const struct sequitur *g, u32 n)
{
	return seq_kind(g, n) == SEQ_GUARD;
}

/* Add @n, which may be negative, to the uses of the rule that node @a stands for, if any. */
static void count_use(struct sequitur *g, u32 a, int n)
{
	if (is_rule(g, a))
		g->node[g->node[a].symbol].symbol += n;
}

/*
 * Look at the digram of @a later.  The node may be free or another one by then: that does no harm,
 * as any digram may be looked at again.  At most 14 waited in recordings and in 100,000 random
 * sequences.  If there were too many, a digram would appear twice and the sequence would still be
 * right.
 */
static void push(struct sequitur *g, u32 a)
{
	if (g->npending == SEQ_PENDING) {
		g->dropped++;
		return;
	}
	g->pending[g->npending++] = a;
}

/* @a and the node behind it are about to be no neighbours any more. */
static void part(struct sequitur *g, u32 a)
{
	u32 b = seq_next(g, a);

	if (is_guard(g, a) || is_guard(g, b) || !seq_digram_drop(g, a))
		return;
	if (g->node[a].symbol == g->node[b].symbol && seq_kind(g, a) == seq_kind(g, b)) {
		push(g, seq_prev(g, a));
		push(g, b);
	}
}

/* ---- replacements ---- */

/*
 * Put the rule of @guard in the place of @a and the node behind it.
 * @entered: the table has this digram at @a
 */
static void substitute(struct sequitur *g, u32 a, u32 guard, bool entered)
{
	u32 b = seq_next(g, a);

	part(g, seq_prev(g, a));
	if (entered)
		part(g, a);
	part(g, b);
	count_use(g, a, -1);
	count_use(g, b, -1);
	g->node[a].symbol = guard;
	g->node[a].prev = seq_prev(g, a) | SEQ_RULE;
	count_use(g, a, 1);
	join(g, a, seq_next(g, b));
	free_node(g, b);
	push(g, a);
	push(g, seq_prev(g, a));
}

/* If the rule that @a stands for is used nowhere else, put its body there. */
static void inline_single(struct sequitur *g, u32 a)
{
	u32 prev = seq_prev(g, a), next = seq_next(g, a), guard, first, last;

	if (!is_rule(g, a) || seq_uses(g, (u32)g->node[a].symbol) > 1)
		return;
	guard = (u32)g->node[a].symbol;
	first = seq_next(g, guard);
	last = seq_prev(g, guard);
	part(g, prev);
	part(g, a);
	join(g, prev, first);
	join(g, last, next);
	free_node(g, a);
	free_node(g, guard);
	g->nrules--;
	push(g, last);
	push(g, prev);
}

/* The guard of the rule whose body is the nodes from @m to @e; SEQ_START if there is none. */
static u32 whole_rule(const struct sequitur *g, u32 m, u32 e)
{
	u32 guard = seq_prev(g, m);

	return is_guard(g, guard) && seq_next(g, e) == guard ? guard : SEQ_START;
}

/* Move the nodes from @m to @e into a new rule, and put that into their place. */
static u32 new_rule(struct sequitur *g, u32 m, u32 e)
{
	u32 prev = seq_prev(g, m), next = seq_next(g, e), guard, x;

	part(g, prev);
	part(g, e);
	guard = new_node(g, 1, SEQ_GUARD);
	x = new_node(g, guard, SEQ_RULE);
	join(g, prev, x);
	join(g, x, next);
	join(g, guard, m);
	join(g, e, guard);
	g->nrules++;
	push(g, x);
	push(g, prev);
	return guard;
}

/* The nodes from @m to @e are equal to what stands for, or begins with, the digram of @a. */
static void replace(struct sequitur *g, u32 a, u32 m, u32 e)
{
	u32 guard = whole_rule(g, m, e), second = seq_next(g, m);

	if (!guard) {
		if (!nodes_left(g, RULE_NODES)) {
			g->full = true;
			return;
		}
		guard = new_rule(g, m, e);
	}
	substitute(g, a, guard, false);
	inline_single(g, m);
	inline_single(g, second);
}

/* The digrams of @a and of @m, which is in the table, are equal and do not overlap. */
static void match(struct sequitur *g, u32 a, u32 m)
{
	u32 b = seq_next(g, a), e = seq_next(g, m), other = whole_rule(g, a, b);

	if (other && whole_rule(g, m, e)) {
		/* Nothing changes: the digram appears twice, and the sequence is still right. */
		g->shared++;
	} else if (other) {
		substitute(g, m, other, true);
		push(g, a);
		inline_single(g, a);
		inline_single(g, b);
	} else if (g->npending || seq_next(g, b) != SEQ_START || whole_rule(g, m, e) ||
		   !nodes_left(g, RULE_NODES)) {
		replace(g, a, m, e);
	} else {
		/* Symbols that go on here have no nodes: seq_settle() must not fail. */
		g->repeat = a;
		g->match = m;
		g->match_end = e;
	}
}

/* Look at the digram of @a. */
static void look(struct sequitur *g, u32 a)
{
	u32 b, m, tag, *at;

	if (seq_kind(g, a) & SEQ_GUARD)		/* or free */
		return;
	b = seq_next(g, a);
	if (is_guard(g, b))
		return;
	g->steps++;
	tag = seq_digram_tag(g, a);
	at = seq_digram_find(g, a, tag);
	m = at ? *at : 0;
	if (!m) {
		seq_digram_put(g, a, tag);
	} else if (m == b) {
		*at = a;
		push(g, seq_next(g, m));
	} else if (m != a && seq_next(g, m) != a) {
		match(g, a, m);
	}
}

static void look_at_pending(struct sequitur *g)
{
	while (g->npending)
		look(g, g->pending[--g->npending]);
}

static void settle(struct sequitur *g)
{
	u32 a = g->repeat;

	if (!a)
		return;
	g->repeat = 0;
	replace(g, a, g->match, g->match_end);
	look_at_pending(g);
}

void seq_settle(struct sequitur *g)
{
	settle(g);
	seq_digrams_flush(g);
}

/* True if @symbol goes on with the part that repeats an earlier one. */
static bool repeats(struct sequitur *g, u64 symbol)
{
	u32 n = seq_next(g, g->match_end);

	if (n == g->repeat || g->node[n].symbol != symbol || seq_kind(g, n) != SEQ_TERMINAL)
		return false;
	g->match_end = n;
	g->symbols++;
	if (whole_rule(g, g->match, n))
		settle(g);
	return true;
}

int sequitur_append(struct sequitur *g, u64 symbol)
{
	u32 last, n;

	if (g->full)
		return -ENOSPC;
	if (g->repeat) {
		if (repeats(g, symbol))
			return 0;
		settle(g);
	}
	if (g->full || !nodes_left(g, SPARE_NODES) || !seq_digrams_room(g)) {
		g->full = true;
		return -ENOSPC;
	}
	last = seq_prev(g, SEQ_START);
	n = new_node(g, symbol, SEQ_TERMINAL);
	join(g, last, n);
	join(g, n, SEQ_START);
	g->symbols++;
	look(g, last);
	look_at_pending(g);
	return 0;
}

size_t sequitur_append_all(struct sequitur *g, const u64 *symbol, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (i + AHEAD + 1 < n)
			seq_digram_prefetch(g, seq_tag(g, symbol[i + AHEAD],
						       symbol[i + AHEAD + 1]));
		if (sequitur_append(g, symbol[i]))
			break;
	}
	return i;
}
