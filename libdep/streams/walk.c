// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sequitur: a closed grammar is walked and expanded. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "grammar.h"

#define MARK	(1ull << 63)	/* the rule has been reached; its number is below it */

/* Number all rules, each when the rules that it uses have been numbered. */
static void number(struct sequitur *g, u32 *stack)
{
	u32 at = seq_next(g, SEQ_START), left = g->nrules, depth = 0;
	struct seq_node *guard;

	g->node[SEQ_START].symbol = MARK;
	for (;;) {
		if (seq_kind(g, at) == SEQ_GUARD) {
			g->rule[--left] = at;
			g->node[at].symbol |= left;
			if (!depth)
				return;
			at = stack[--depth];
		} else if (seq_kind(g, at) == SEQ_RULE) {
			guard = &g->node[g->node[at].symbol];
			if (!(guard->symbol & MARK)) {
				guard->symbol = MARK;
				stack[depth++] = at;
				at = guard->next;
				continue;
			}
		}
		at = seq_next(g, at);
	}
}

static void lengths(struct sequitur *g)
{
	struct sequitur_symbol s;
	struct sequitur_walk w;
	u32 i;

	for (i = g->nrules; i--;) {
		w = sequitur_walk(g, i);
		g->length[i] = 0;
		while (sequitur_next(g, &w, &s))
			g->length[i] += s.is_rule ? g->length[s.value] : 1;
	}
}

int sequitur_close(struct sequitur *g)
{
	u32 *stack, i;

	if (g->closed)
		return 0;
	seq_settle(g);
	munmap(g->line, seq_table_bytes(g->bits));
	g->line = NULL;
	g->full = true;
	stack = malloc(g->nrules * sizeof(*stack));
	g->rule = malloc(g->nrules * sizeof(*g->rule));
	g->length = malloc(g->nrules * sizeof(*g->length));
	if (!stack || !g->rule || !g->length) {
		free(stack);
		return -ENOMEM;
	}
	number(g, stack);
	free(stack);
	for (i = 0; i < g->nrules; i++)
		g->node[g->rule[i]].symbol &= ~MARK;
	g->closed = true;
	lengths(g);
	return 0;
}

u32 sequitur_rules(const struct sequitur *g)
{
	return g->nrules;
}

struct sequitur_walk sequitur_walk(const struct sequitur *g, u32 rule)
{
	return (struct sequitur_walk){ seq_next(g, g->rule[rule]) };
}

bool sequitur_next(const struct sequitur *g, struct sequitur_walk *w, struct sequitur_symbol *out)
{
	const struct seq_node *n = &g->node[w->node];

	if (seq_kind(g, w->node) == SEQ_GUARD)
		return false;
	out->is_rule = seq_kind(g, w->node) == SEQ_RULE;
	out->value = out->is_rule ? g->node[n->symbol].symbol : n->symbol;
	w->node = n->next;
	return true;
}

u64 sequitur_length(const struct sequitur *g, u32 rule)
{
	return g->length[rule];
}

/* A rule that is being expanded: what follows its use. */
struct stack {
	struct sequitur_walk *level;
	size_t n, room;
};

static int enter(struct stack *s, struct sequitur_walk w)
{
	size_t room = s->room ? 2 * s->room : 64;
	void *p;

	if (s->n == s->room) {
		p = realloc(s->level, room * sizeof(*s->level));
		if (!p)
			return -ENOMEM;
		s->level = p;
		s->room = room;
	}
	s->level[s->n++] = w;
	return 0;
}

int sequitur_expand(const struct sequitur *g, u32 rule, int (*put)(void *arg, u64 symbol),
		    void *arg)
{
	struct sequitur_walk w = sequitur_walk(g, rule);
	struct sequitur_symbol symbol;
	struct stack stack = { 0 };
	int ret = 0;

	while (!ret) {
		if (!sequitur_next(g, &w, &symbol)) {
			if (!stack.n)
				break;
			w = stack.level[--stack.n];
		} else if (symbol.is_rule) {
			ret = enter(&stack, w);
			w = sequitur_walk(g, (u32)symbol.value);
		} else {
			ret = put(arg, symbol.value);
		}
	}
	free(stack.level);
	return ret;
}
