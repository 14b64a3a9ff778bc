// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree of calling contexts as the page shows it.
 *
 * First, contexts that differ in their call sites only become one node.  With several processes,
 * each has a node below the root.  Then nodes below the least number of instructions are joined:
 * each parent has at most one node PAGE_SMALLER for all its small descendants.
 */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

#define NONE	UINT32_MAX

/** struct joiner - nodes before the small ones are joined, and a hash table of them */
struct joiner {
	struct page_node *node;
	uint32_t n, room;
	uint32_t *slot, mask;	/* 1 + index of a node, 0: free */
};

static int joiner_init(struct joiner *j, size_t ncontexts, size_t nprocesses)
{
	size_t slots = 64;

	if (ncontexts + nprocesses >= UINT32_MAX / 4)
		return -EFBIG;
	j->room = ncontexts + nprocesses + 1;
	while (slots < 2 * (size_t)j->room)
		slots *= 2;
	j->mask = slots - 1;
	j->node = calloc(j->room, sizeof(*j->node));
	j->slot = calloc(slots, sizeof(*j->slot));
	return j->node && j->slot ? 0 : -ENOMEM;
}

static bool same(const struct page_node *a, const struct page_node *b)
{
	return a->parent == b->parent && a->function == b->function && a->process == b->process &&
	       (a->kind == DEP_CONTEXT_SIGNAL) == (b->kind == DEP_CONTEXT_SIGNAL) &&
	       (a->kind == PAGE_PROCESS) == (b->kind == PAGE_PROCESS);
}

/* Find the node that is the same() as @want, or add it. */
static uint32_t join(struct joiner *j, const struct page_node *want)
{
	uint64_t hash = want->parent * 0x9e3779b97f4a7c15u;
	uint32_t i;

	hash = (hash ^ want->function ^ (uint64_t)want->process << 32) * 0xff51afd7ed558ccdu;
	for (i = hash >> 32 & j->mask; j->slot[i]; i = (i + 1) & j->mask)
		if (same(&j->node[j->slot[i] - 1], want))
			return j->slot[i] - 1;
	j->node[j->n] = *want;
	j->node[j->n].depth = j->n ? j->node[want->parent].depth + 1 : 0;
	j->slot[i] = ++j->n;
	return j->n - 1;
}

static uint32_t process_index(const struct page_input *in, uint32_t serial)
{
	const struct dep_process *p;
	size_t n = dep_store_processes(in->store, &p), i;

	for (i = 0; i < n; i++)
		if (p[i].serial == serial)
			return i;
	return NONE;
}

static void join_contexts(const struct page_input *in, struct joiner *j, uint32_t *of)
{
	const struct dep_contexts *c = in->contexts;
	const struct dep_process *process;
	bool several = dep_store_processes(in->store, &process) > 1;
	struct page_node want;
	uint32_t serial = 0, index = NONE;
	size_t i;

	want = (struct page_node){ .function = NO_FUNCTION, .process = NONE };
	of[0] = join(j, &want);
	for (i = 1; i < c->ncontexts; i++) {
		const struct dep_context *x = &c->context[i];
		uint32_t parent = of[x->parent < i ? x->parent : 0];

		if (several && !parent) {
			if (x->process != serial || index == NONE)
				index = process_index(in, serial = x->process);
			want = (struct page_node){ .function = NO_FUNCTION, .process = index,
						   .kind = PAGE_PROCESS };
			parent = join(j, &want);
		}
		want = (struct page_node){ .parent = parent, .process = NONE, .kind = x->kind,
					   .function = functions_of(in->functions, i),
					   .guess = x->guess };
		of[i] = join(j, &want);
		j->node[of[i]].guess &= want.guess;
		j->node[of[i]].calls += x->calls;
		j->node[of[i]].self += x->insns;
	}
	j->node[0].self += c->ncontexts ? c->context[0].insns : 0;
	for (i = j->n; i-- > 0;) {
		j->node[i].inclusive += j->node[i].self;
		if (i)
			j->node[j->node[i].parent].inclusive += j->node[i].inclusive;
	}
}

static bool shown(const struct page_node *x, uint64_t least)
{
	return x->depth <= PAGE_DEPTH && x->inclusive >= least;
}

static uint64_t least_of(const struct joiner *j)
{
	uint64_t least = j->node[0].inclusive / PAGE_SHARE;
	uint32_t i, n;

	least += !least;
	for (;; least *= 2) {
		for (i = 0, n = 0; i < j->n; i++)
			n += shown(&j->node[i], least);
		if (n <= PAGE_NODES || least >= j->node[0].inclusive)
			return least;
	}
}

/* Copy the nodes that are shown to @t; to[] receives the new index of each node. */
static void join_small(const struct joiner *j, struct page_tree *t, uint32_t *to, uint32_t *small)
{
	uint32_t i, parent;

	for (i = 0; i < j->n; i++) {
		const struct page_node *x = &j->node[i];
		bool small_parent = i && !shown(&j->node[x->parent], t->least) && x->parent;

		if (!i || (shown(x, t->least) && !small_parent)) {
			t->node[t->n] = *x;
			t->node[t->n].parent = i ? to[x->parent] : 0;
			small[t->n] = NONE;
			to[i] = t->n++;
			continue;
		}
		if (small_parent) {
			to[i] = to[x->parent];
			t->node[to[i]].joined++;
			t->node[to[i]].kind = PAGE_SMALLER;
			continue;
		}
		parent = to[x->parent];
		if (small[parent] == NONE) {
			/* One alone keeps its name. */
			small[parent] = t->n;
			t->node[t->n] = *x;
			t->node[t->n].parent = parent;
			t->node[t->n].self = x->inclusive;
			t->node[t->n].joined = 1;
			small[t->n] = NONE;
			to[i] = t->n++;
			continue;
		}
		to[i] = small[parent];
		t->node[to[i]].self += x->inclusive;
		t->node[to[i]].inclusive += x->inclusive;
		t->node[to[i]].calls += x->calls;
		t->node[to[i]].joined++;
		t->node[to[i]].kind = PAGE_SMALLER;
	}
	for (i = 0; i < t->n; i++)
		if (t->node[i].kind == PAGE_SMALLER) {
			t->node[i].function = t->node[i].process = NONE;
			t->node[i].guess = false;
		}
}

int page_tree_make(const struct page_input *in, struct page_tree *t)
{
	const struct dep_process *process;
	size_t n = in->contexts->ncontexts, i;
	uint32_t *to = NULL, *small = NULL;
	struct joiner j = { };
	int ret;

	*t = (struct page_tree){ };
	ret = joiner_init(&j, n, dep_store_processes(in->store, &process));
	if (ret)
		goto out;
	ret = -ENOMEM;
	t->of = calloc(n + 1, sizeof(*t->of));
	if (!t->of)
		goto out;
	join_contexts(in, &j, t->of);
	t->least = least_of(&j);
	t->node = calloc(2 * (size_t)j.n, sizeof(*t->node));
	to = calloc(j.n, sizeof(*to));
	small = calloc(2 * (size_t)j.n, sizeof(*small));
	if (!t->node || !to || !small)
		goto out;
	join_small(&j, t, to, small);
	for (i = 0; i < n; i++)
		t->of[i] = to[t->of[i]];
	ret = 0;
out:
	free(small);
	free(to);
	free(j.slot);
	free(j.node);
	if (ret)
		page_tree_free(t);
	return ret;
}

void page_tree_free(struct page_tree *t)
{
	free(t->node);
	free(t->of);
	*t = (struct page_tree){ };
}
