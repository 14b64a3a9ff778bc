// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls between functions, from the whole tree of contexts.
 *
 * Instructions of a pair are those of the callee's contexts with all below them.  In a recursion
 * the same pair can be above itself: only its outermost occurrence counts.
 */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

#define NONE	UINT32_MAX

/** struct pairs - a hash table; a pair is named by its index in @pair */
struct pairs {
	struct page_pair *pair;
	uint32_t *active;	/* number of contexts of the pair on the way from the root */
	uint32_t *slot;		/* 1 + index in @pair; 0: free */
	uint32_t n, mask;
};

/** struct walk - the tree of contexts, to be walked depth first */
struct walk {
	uint32_t *child, *sibling;	/* first child, next child of the same parent */
	uint32_t *pair;			/* pair by which each context was entered */
	uint64_t *inclusive;
};

static uint32_t pair_of(struct pairs *p, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee;
	uint32_t i = key * 0x9e3779b97f4a7c15u >> 30 & p->mask, k;

	for (; p->slot[i]; i = (i + 1) & p->mask) {
		k = p->slot[i] - 1;
		if (p->pair[k].caller == caller && p->pair[k].callee == callee)
			return k;
	}
	p->pair[p->n] = (struct page_pair){ .caller = caller, .callee = callee };
	p->slot[i] = ++p->n;
	return p->n - 1;
}

static void find_pairs(const struct page_input *in, struct walk *w, struct pairs *p)
{
	const struct dep_contexts *c = in->contexts;
	uint32_t i, parent;

	for (i = c->ncontexts; i-- > 1;) {
		parent = c->context[i].parent < i ? c->context[i].parent : 0;
		w->inclusive[i] += c->context[i].insns;
		w->inclusive[parent] += w->inclusive[i];
		w->sibling[i] = w->child[parent];
		w->child[parent] = i;
	}
	for (i = 1; i < c->ncontexts; i++) {
		parent = c->context[i].parent < i ? c->context[i].parent : 0;
		w->pair[i] = pair_of(p, functions_of(in->functions, parent),
				     functions_of(in->functions, i));
		p->pair[w->pair[i]].calls += c->context[i].calls;
	}
}

static void enter(const struct walk *w, struct pairs *p, uint32_t i)
{
	if (!p->active[w->pair[i]]++)
		p->pair[w->pair[i]].insns += w->inclusive[i];
}

static void add_insns(const struct page_input *in, const struct walk *w, struct pairs *p)
{
	const struct dep_context *c = in->contexts->context;
	uint32_t i = w->child[0];

	if (i)
		enter(w, p, i);
	while (i) {
		if (w->child[i]) {
			i = w->child[i];
			enter(w, p, i);
			continue;
		}
		for (;;) {
			p->active[w->pair[i]]--;
			if (w->sibling[i]) {
				i = w->sibling[i];
				enter(w, p, i);
				break;
			}
			i = c[i].parent < i ? c[i].parent : 0;
			if (!i)
				break;
		}
	}
}

static int most_insns(const void *a, const void *b)
{
	const struct page_pair *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	if (x->caller != y->caller)
		return x->caller > y->caller ? 1 : -1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Keep the pairs of which the page has both functions. */
static void choose(struct page_functions *s, struct pairs *p)
{
	uint32_t i, n = 0;

	for (i = 0; i < p->n; i++) {
		const struct page_pair *x = &p->pair[i];

		if (x->callee != NONE && s->number[x->callee] != NONE &&
		    (x->caller == NONE || s->number[x->caller] != NONE))
			p->pair[n++] = *x;
	}
	qsort(p->pair, n, sizeof(*p->pair), most_insns);
	s->npairs = n < PAGE_PAIRS ? n : PAGE_PAIRS;
	s->pairs_left_out = p->n - s->npairs;
	s->pair = p->pair;
	p->pair = NULL;
}

int page_pairs_make(const struct page_input *in, struct page_functions *s)
{
	size_t n = in->contexts->ncontexts, slots = 64;
	struct pairs p = { };
	struct walk w = { };
	int ret = -ENOMEM;

	while (slots < 2 * n)
		slots *= 2;
	p.mask = slots - 1;
	p.slot = calloc(slots, sizeof(*p.slot));
	p.pair = calloc(n + 1, sizeof(*p.pair));
	p.active = calloc(n + 1, sizeof(*p.active));
	w.child = calloc(n + 1, sizeof(*w.child));
	w.sibling = calloc(n + 1, sizeof(*w.sibling));
	w.pair = calloc(n + 1, sizeof(*w.pair));
	w.inclusive = calloc(n + 1, sizeof(*w.inclusive));
	if (p.slot && p.pair && p.active && w.child && w.sibling && w.pair && w.inclusive) {
		find_pairs(in, &w, &p);
		add_insns(in, &w, &p);
		choose(s, &p);
		ret = 0;
	}
	free(w.inclusive);
	free(w.pair);
	free(w.sibling);
	free(w.child);
	free(p.active);
	free(p.pair);
	free(p.slot);
	return ret;
}
