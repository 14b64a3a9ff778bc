// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks of a grammar that use its nodes only, not its digram table's search. */
#include <stdlib.h>

#include "grammar_check.h"

struct digram {
	u64 left, right;
	u32 kinds, node;
};

static int compare(const void *p, const void *q)
{
	const struct digram *a = p, *b = q;

	if (a->left != b->left)
		return a->left < b->left ? -1 : 1;
	if (a->right != b->right)
		return a->right < b->right ? -1 : 1;
	return a->kinds < b->kinds ? -1 : a->kinds > b->kinds;
}

/* The table has each digram at one of the places where it is, and nothing else. */
static void check_table(struct sequitur *g, const struct digram *d, u32 n)
{
	u64 distinct = 0, entries = 0, i;

	for (i = 0; i < n; i++) {
		distinct += !i || compare(&d[i - 1], &d[i]);
		assert_non_null(seq_digram_find(g, d[i].node, seq_digram_tag(g, d[i].node)));
	}
	for (i = 0; i < 1ull << g->bits; i++)
		entries += g->line[i / SEQ_LINE].node[i % SEQ_LINE] != 0;
	assert_int_equal(entries, distinct);
	assert_int_equal(g->digrams, distinct);
}

/* Equal digrams must overlap: one begins where another ends. */
static void check_unique(const struct sequitur *g, const struct digram *d, u32 n)
{
	u32 i, j, a, b;

	for (i = 0; i < n; i++) {
		for (j = i + 1; j < n && !compare(&d[i], &d[j]); j++) {
			a = d[i].node;
			b = d[j].node;
			assert_true(seq_next(g, a) == b || seq_next(g, b) == a);
		}
	}
}

void check_open(struct sequitur *g)
{
	struct digram *d;
	u64 *uses;
	u32 n = 0, i, guards = 0, free_nodes = 0, length, at;

	seq_settle(g);
	d = calloc(g->nodes, sizeof(*d));
	uses = calloc(g->nodes, sizeof(*uses));
	assert_non_null(d);
	assert_non_null(uses);
	for (i = 0; i < g->nodes; i++) {
		free_nodes += seq_kind(g, i) == SEQ_FREE;
		if (seq_kind(g, i) != SEQ_GUARD)
			continue;
		guards++;
		length = 0;
		for (at = seq_next(g, i); at != i; at = seq_next(g, at), length++) {
			assert_int_equal(seq_next(g, seq_prev(g, at)), at);
			if (seq_kind(g, at) == SEQ_RULE) {
				assert_int_equal(seq_kind(g, (u32)g->node[at].symbol), SEQ_GUARD);
				uses[g->node[at].symbol]++;
			}
			if (seq_next(g, at) != i)
				d[n++] = (struct digram){
					g->node[at].symbol, g->node[seq_next(g, at)].symbol,
					seq_kind(g, at) | seq_kind(g, seq_next(g, at)) >> 2, at };
		}
		assert_true(i == SEQ_START || length >= 2);
	}
	assert_int_equal(guards, g->nrules);
	assert_int_equal(free_nodes, g->nfree);
	for (i = 1; i < g->nodes; i++) {
		if (seq_kind(g, i) != SEQ_GUARD)
			continue;
		assert_int_equal(uses[i], seq_uses(g, i));
		assert_true(uses[i] >= 2);
	}
	qsort(d, n, sizeof(*d), compare);
	check_unique(g, d, n);
	check_table(g, d, n);
	assert_int_equal(g->dropped, 0);
	free(d);
	free(uses);
}

struct expected {
	const u64 *in;
	u64 n;
};

static int take(void *arg, u64 symbol)
{
	struct expected *e = arg;

	assert_true(e->n);
	assert_int_equal(symbol, *e->in);
	e->in++;
	e->n--;
	return 0;
}

void check_expand(const struct sequitur *g, const u64 *in, u64 n)
{
	struct expected e = { in, n };

	assert_int_equal(sequitur_length(g, 0), n);
	assert_int_equal(sequitur_expand(g, 0, take, &e), 0);
	assert_int_equal(e.n, 0);
}

const char *print_grammar(const struct sequitur *g)
{
	static char text[4096];
	struct sequitur_symbol s;
	struct sequitur_walk w;
	size_t n = 0;
	u32 i;

	for (i = 0; i < sequitur_rules(g); i++) {
		w = sequitur_walk(g, i);
		if (i)
			n += snprintf(text + n, sizeof(text) - n, " %u=", i);
		else
			n += snprintf(text + n, sizeof(text) - n, "S=");
		while (sequitur_next(g, &w, &s)) {
			assert_true(n + 16 < sizeof(text));
			n += s.is_rule ? sprintf(text + n, "%u", (u32)s.value) :
					 sprintf(text + n, "%c", (char)s.value);
		}
	}
	return text;
}

struct sequitur *grammar_of(const char *text)
{
	struct sequitur *g = sequitur_new(1 << 20);

	assert_non_null(g);
	for (; *text; text++) {
		assert_int_equal(sequitur_append(g, (u8)*text), 0);
		check_open(g);
	}
	assert_int_equal(sequitur_close(g), 0);
	return g;
}
