// SPDX-License-Identifier: LGPL-2.1-or-later
/* Contexts of calls and jumps, and counts of what runs in them. */
#include <stdlib.h>
#include <string.h>

#include "walk.h"

/*
 * A tail call goes back to a context of the same activation if that has the same function, so a
 * ring of tail calls has as many contexts as functions.  Chains are not longer than this: programs
 * whose functions all end by tail calls would have a context for each path.
 */
#define TAIL_CHAIN	8

u32 dep_context_new(struct dep_walk *w, u32 parent, u8 kind, u64 site, s64 site_fragment, u64 pc,
		    s64 fragment, bool incomplete)
{
	const struct dep_code_fragment *f = w->code->fragment;
	const struct dep_node key = {
		.parent = parent, .kind = kind, .process = w->thread->process, .pc = pc,
		.site = site, .site_image = site_fragment >= 0 ? f[site_fragment].image : 0,
		.image = fragment >= 0 ? f[fragment].image : 0, .incomplete = incomplete,
	};

	return dep_tree_child(&w->tree, &key);
}

struct dep_step_to *dep_steps_to_new(void)
{
	struct dep_step_to *all = aligned_alloc(64, DEP_STEPS_TO * sizeof(*all));

	if (all)
		memset(all, 0, DEP_STEPS_TO * sizeof(*all));
	return all;
}

void dep_count_forget(struct dep_walk *w)
{
	w->generation += DEP_GENERATION;
	if (w->generation)
		return;
	memset(w->cache, 0, DEP_STEPS_TO * sizeof(*w->cache));
	w->generation = DEP_GENERATION;
}

static struct dep_step_to *cached(struct dep_walk *w, u32 kind, const struct dep_branch_at *b)
{
	return dep_step_to(w, w->ctx, kind, b->step_number, b->to);
}

static bool is_cached(const struct dep_walk *w, const struct dep_step_to *c, u32 kind,
		      const struct dep_branch_at *b)
{
	return dep_is_step_to(w, c, w->ctx, kind, b->step_number, b->to, b->to_fragment);
}

static bool is_call(u8 branch)
{
	return branch == DEP_BRANCH_CALL || branch == DEP_BRANCH_CALL_INDIRECT;
}

/* Fill in a transition to @c->to.  Not if the tree is full: each of these calls is counted. */
static u32 cache(const struct dep_walk *w, struct dep_step_to *c, u32 kind,
		 const struct dep_branch_at *b)
{
	struct dep_node_now *now = w->tree.now + w->ctx;
	u32 fragment = (u32)b->to_fragment;

	/* The hot loop finds calls at calls, and tail calls at jumps. */
	if (now->used && !w->tree.refused && b->to_fragment >= 0 && c->to != DEP_NO_NODE &&
	    (kind == DEP_CONTEXT_CALL) == is_call(b->step->branch))
		now->next[dep_tree_next(b->step_number, fragment)] =
			(struct dep_node_next){ b->step_number, fragment, c->to };
	c->key = w->tree.refused ? 0 : w->generation | kind;
	c->from = w->ctx;
	c->exit = b->step_number;
	c->pc = b->to;
	c->image = dep_image_of(w, b->to_fragment);
	return c->to;
}

u32 dep_context_of(struct dep_walk *w, u8 kind, const struct dep_branch_at *b)
{
	struct dep_step_to *c = cached(w, kind, b);

	w->tree.refused = false;
	if (is_cached(w, c, kind, b))
		return c->to;
	c->to = dep_context_new(w, w->flat && kind == DEP_CONTEXT_CALL ? 0 : w->ctx, kind,
				b->step->pc, b->fragment, b->to, b->to_fragment, false);
	return cache(w, c, kind, b);
}

/* The context that a chain of tail calls goes back to, or where a new one begins. */
static u32 tail_parent(const struct dep_walk *w, u64 pc, u32 image, bool *found)
{
	const struct dep_node *node = w->tree.node;
	u32 at = w->ctx, depth;

	*found = false;
	for (depth = 0; ; depth++) {
		if (node[at].pc == pc && node[at].image == image) {
			*found = true;
			return at;
		}
		if (node[at].kind != DEP_CONTEXT_TAIL)
			break;
		at = node[at].parent;
	}
	return depth < TAIL_CHAIN ? w->ctx : at;
}

u32 dep_context_tail(struct dep_walk *w, const struct dep_branch_at *b)
{
	struct dep_step_to *c = cached(w, DEP_CONTEXT_TAIL, b);
	u32 parent;
	bool found;

	w->tree.refused = false;
	if (is_cached(w, c, DEP_CONTEXT_TAIL, b))
		return c->to;
	parent = tail_parent(w, b->to, dep_image_of(w, b->to_fragment), &found);
	c->to = found ? parent : dep_context_new(w, parent, DEP_CONTEXT_TAIL, b->step->pc,
						 b->fragment, b->to, b->to_fragment, false);
	return cache(w, c, DEP_CONTEXT_TAIL, b);
}
