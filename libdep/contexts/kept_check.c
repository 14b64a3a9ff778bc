// SPDX-License-Identifier: LGPL-2.1-or-later
/* Check contexts that come from a file, which anyone can have written. */
#include <stdlib.h>
#include <string.h>

#include "kept_check.h"

/** struct left - counts of a context that no thread has accounted for yet */
struct left {
	u64 calls, insns, refs;
};

/* ---- the tree ---- */

static bool precedes(const struct dep_context *a, const struct dep_context *b)
{
	if (a->process != b->process)
		return a->process < b->process;
	if (a->site != b->site)
		return a->site < b->site;
	if (a->pc != b->pc)
		return a->pc < b->pc;
	return a->kind != b->kind ? a->kind < b->kind : a->image < b->image;
}

/*
 * Is the parent of context @i the one in front of it, or above that, and is @i sorted behind its
 * siblings?  All steps together are not more than there are contexts: the way up from the next
 * context does not contain what was passed here.
 */
static bool place_fits(const struct dep_context *c, u32 i)
{
	u32 at = i - 1, sibling = 0;

	while (at != c[i].parent) {
		if (!at)
			return false;
		sibling = at;
		at = c[at].parent;
	}
	return !sibling || precedes(&c[sibling], &c[i]);
}

/* Contexts with guesses are not kept. */
static bool fields_fit(const struct dep_context *c, size_t nmodules)
{
	return c->kind > DEP_CONTEXT_ROOT && c->kind < DEP_CONTEXT_KINDS && c->incomplete <= 1 &&
	       !c->guess && !c->pad && !c->pad2 && c->image <= nmodules &&
	       c->site_image <= nmodules;
}

static bool add(u64 *sum, u64 more)
{
	return !__builtin_add_overflow(*sum, more, sum);
}

static bool contexts_fit(const struct dep_contexts *c, struct dep_store *store)
{
	static const struct dep_context root;
	const struct dep_context *x = c->context;
	const struct dep_module *module;
	const size_t nmodules = dep_store_modules(store, &module);
	struct left sum = { 0 };
	u32 i;

	/* Nothing ran in the root: all contexts had room. */
	if (!c->ncontexts || memcmp(x, &root, sizeof(root)))
		return false;
	for (i = 1; i < c->ncontexts; i++)
		if (!fields_fit(&x[i], nmodules) || !place_fits(x, i) || !x[i].process ||
		    (x[i].process != x[i - 1].process &&
		     !dep_model_process(&store->model, x[i].process)) ||
		    !add(&sum.calls, x[i].calls) || !add(&sum.insns, x[i].insns) ||
		    !add(&sum.refs, x[i].refs))
			return false;
	return true;
}

/* ---- rows of threads ---- */

static bool take(u64 *left, u64 part)
{
	return !__builtin_sub_overflow(*left, part, left);
}

static bool share_fits(const struct dep_contexts *c, const struct dep_context_share *s,
		       const struct dep_thread *t, struct left *left)
{
	struct left *of = left + s->context;

	return t && s->context < c->ncontexts && t->process == c->context[s->context].process &&
	       (s->calls || s->insns) && take(&of->calls, s->calls) &&
	       take(&of->insns, s->insns) && take(&of->refs, s->refs);
}

static bool share_follows(const struct dep_context_share *a, const struct dep_context_share *b)
{
	return a->thread != b->thread ? a->thread < b->thread : a->context < b->context;
}

static bool all_shared(const struct dep_contexts *c, struct dep_store *store, struct left *left)
{
	const struct dep_thread *t = NULL;
	size_t i;

	for (i = 0; i < c->nshares; i++) {
		if (!i || c->share[i].thread != c->share[i - 1].thread)
			t = dep_model_thread(&store->model, c->share[i].thread);
		if (!share_fits(c, &c->share[i], t, left) ||
		    (i && !share_follows(&c->share[i - 1], &c->share[i])))
			return false;
	}
	for (i = 0; i < c->ncontexts; i++)
		if (left[i].calls || left[i].insns || left[i].refs)
			return false;
	return true;
}

static bool shares_fit(const struct dep_contexts *c, struct dep_store *store)
{
	struct left *left = malloc(c->ncontexts * sizeof(*left));
	bool ok = left;
	size_t i;

	for (i = 0; ok && i < c->ncontexts; i++)
		left[i] = (struct left){ c->context[i].calls, c->context[i].insns,
					 c->context[i].refs };
	ok = ok && all_shared(c, store, left);
	free(left);
	return ok;
}

/* ---- rows of time ---- */

/* Index of the row of a thread with these instructions; the number of rows: there is none. */
static size_t share_of(const struct dep_contexts *c, const struct dep_context_time *t)
{
	const struct dep_context_share key = { .thread = t->thread, .context = t->context };
	size_t low = 0, high = c->nshares, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (share_follows(&c->share[mid], &key))
			low = mid + 1;
		else
			high = mid;
	}
	if (low < c->nshares && !share_follows(&key, &c->share[low]))
		return low;
	return c->nshares;
}

/* Segments of a forged store can begin at the same time, so rows may be equal. */
static bool time_follows(const struct dep_context_time *a, const struct dep_context_time *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->thread != b->thread ? a->thread < b->thread : a->context <= b->context;
}

static bool all_timed(const struct dep_contexts *c, u64 *left)
{
	size_t i, share;

	for (i = 0; i < c->ntimes; i++) {
		share = share_of(c, &c->time[i]);
		if (share == c->nshares || !c->time[i].insns ||
		    !take(&left[share], c->time[i].insns) ||
		    (i && !time_follows(&c->time[i - 1], &c->time[i])))
			return false;
	}
	for (i = 0; i < c->nshares; i++)
		if (left[i])
			return false;
	return true;
}

static bool times_fit(const struct dep_contexts *c)
{
	u64 *left = malloc((c->nshares + 1) * sizeof(*left));
	bool ok = left;
	size_t i;

	for (i = 0; ok && i < c->nshares; i++)
		left[i] = c->share[i].insns;
	ok = ok && all_timed(c, left);
	free(left);
	return ok;
}

bool dep_kept_contexts_fit(const struct dep_contexts *c, struct dep_store *store, bool times)
{
	return contexts_fit(c, store) && shares_fit(c, store) &&
	       (times ? times_fit(c) : !c->ntimes);
}
