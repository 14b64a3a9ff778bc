// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of the tree of calling contexts that is exported.
 *
 * What threads did stands in rows by thread.  Selecting some of these rows uses their contexts and
 * all contexts above, and costs nothing for others: a store can have many threads.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/numbering.h"
#include "tree.h"

/* Find the contexts with the same chain of functions. */
static int merge_contexts(struct tree *t)
{
	struct { uint32_t parent, process, function, pad; uint64_t pc; } key = { 0 };
	const struct dep_context *c = t->contexts->context;
	struct numbering seen = { 0 };
	uint32_t i, n, *first = calloc(t->contexts->ncontexts + 1, sizeof(*first));
	int ret = first ? 0 : 1;

	for (i = 0; !ret && i < t->contexts->ncontexts; i++) {
		key.parent = t->same[c[i].parent];
		key.process = c[i].process;
		key.function = functions_of(t->x->l.functions, i);
		key.pc = key.function == NO_FUNCTION ? c[i].pc : 0;
		n = number_of(&seen, &key, sizeof(key));
		if (n == NUMBERING_FULL)
			ret = 1;
		else if (n + 1 == seen.n && !first[n])
			first[n] = i;
		t->same[i] = i ? first[n] : 0;
	}
	numbering_free(&seen);
	free(first);
	return ret;
}

static void find_guesses(struct tree *t)
{
	size_t i, n = t->contexts->ncontexts;

	for (i = 0; i < n; i++)
		t->guess[i] = t->contexts->context[i].guess;
	for (i = 0; i < n; i++)
		t->guess[t->same[i]] &= t->guess[i];
}

int tree_begin(struct tree *t, const struct export *x, bool merge)
{
	size_t i, n = x->l.contexts->ncontexts;

	*t = (struct tree){ .x = x, .contexts = x->l.contexts };
	t->node = calloc(n + 1, sizeof(*t->node));
	t->used = calloc(n + 1, sizeof(*t->used));
	t->same = calloc(n + 1, sizeof(*t->same));
	t->guess = calloc(n + 1, sizeof(*t->guess));
	for (i = 0; t->same && i < n; i++)
		t->same[i] = (uint32_t)i;
	if (t->node && t->used && t->same && t->guess && (!merge || !merge_contexts(t))) {
		find_guesses(t);
		return 0;
	}
	warn("out of memory");
	tree_end(t);
	return 1;
}

void tree_end(struct tree *t)
{
	free(t->node);
	free(t->used);
	free(t->same);
	free(t->guess);
	t->node = NULL;
	t->used = t->same = NULL;
	t->guess = NULL;
}

static void use(struct tree *t, uint32_t context)
{
	while (!t->node[context].used) {
		t->node[context].used = true;
		t->used[t->nused++] = context;
		context = tree_parent(t, context);
	}
}

static void add_share(struct tree *t, const struct dep_context_share *s)
{
	struct tree_node *n = &t->node[t->same[s->context]];

	if (!export_share(t->x, s))
		return;
	n->calls += s->calls;
	n->insns += s->insns;
	n->weight += t->x->weight == WEIGHT_CALLS ? s->calls : s->insns;
	if (s->calls || s->insns)
		use(t, t->same[s->context]);
}

static int largest_first(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return *a < *b ? 1 : -(*a > *b);
}

void tree_select(struct tree *t, size_t first, size_t n)
{
	struct tree_node *node, *parent;
	uint32_t context;
	size_t i;

	for (i = 0; i < t->nused; i++)
		memset(&t->node[t->used[i]], 0, sizeof(*t->node));
	t->nused = 0;
	for (i = 0; i < n; i++)
		add_share(t, &t->contexts->share[first + i]);
	qsort(t->used, t->nused, sizeof(*t->used), largest_first);
	for (i = 0; i < t->nused; i++) {
		context = t->used[i];
		node = &t->node[context];
		node->inclusive += node->weight;
		node->called += node->insns;
		if (!context)
			break;
		parent = &t->node[tree_parent(t, context)];
		parent->inclusive += node->inclusive;
		if (tree_is_call(&t->contexts->context[context]))
			parent->called += node->called;
		node->next = parent->child;
		parent->child = context;
	}
}

size_t tree_thread(const struct tree *t, size_t first)
{
	const struct dep_contexts *c = t->contexts;
	size_t n = first;

	while (n < c->nshares && c->share[n].thread == c->share[first].thread)
		n++;
	return n - first;
}

bool tree_walk(const struct tree *t, struct tree_walk *w)
{
	const struct tree_node *node = &t->node[w->context];

	if (!w->begun) {
		w->begun = true;
		return node->used;
	}
	if (!w->leave && node->child) {
		w->context = node->child;
	} else if (!w->leave) {
		w->leave = true;
	} else if (!w->context) {
		return false;
	} else if (node->next) {
		w->context = node->next;
		w->leave = false;
	} else {
		w->context = tree_parent(t, w->context);
	}
	return true;
}
