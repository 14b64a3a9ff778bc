// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dep_contexts_at(): the stacks at some positions.
 *
 * The fold runs as for the whole tree, but only over the threads that are needed.  In segments with
 * positions it takes one record at a time, and notes the context at work where a position is
 * reached.  Between two branches that are counted, a conditional jump can enter another function,
 * so the position's instruction decides.
 */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "walk.h"

/* ---- during the fold ---- */

/* Is @x, or the moment @branches, @signals in its segment, first? */
static int compare(const struct dep_position *x, u32 branches, u32 signals)
{
	if (x->branches != branches)
		return x->branches < branches ? -1 : 1;
	return x->signals < signals ? -1 : x->signals > signals;
}

void dep_at_segment(struct dep_walk *w)
{
	size_t lo = 0, hi = w->nwanted, mid;
	u32 segment = w->seg - 1;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (w->wanted[mid].at.segment < segment)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; hi < w->nwanted && w->wanted[hi].at.segment == segment;)
		hi++;
	w->wanted_at = lo;
	w->wanted_end = hi;
}

static void note(const struct dep_walk *w, struct dep_wanted *x)
{
	x->set = true;
	x->ctx = w->ctx;
	x->cut = w->tree.not_counted || w->dropped_frames;
}

void dep_at_insns(struct dep_walk *w, u64 from, u64 to)
{
	struct dep_wanted *x;
	size_t i;

	while (w->wanted_at < w->wanted_end &&
	       compare(&w->wanted[w->wanted_at].at, w->branches, w->signals) < 0)
		w->wanted_at++;
	for (i = w->wanted_at; i < w->wanted_end; i++) {
		x = w->wanted + i;
		if (compare(&x->at, w->branches, w->signals) > 0)
			break;
		if (x->exact)
			continue;
		x->exact = !x->at.pc || x->at.pc - from < to - from;
		if (x->exact || !x->set)
			note(w, x);
	}
}

/*
 * The rest of a segment's positions are in a record that ends in the next segment, or behind the
 * last one.
 */
void dep_at_end(struct dep_walk *w, bool follows)
{
	struct dep_wanted *x;
	int order;

	for (; w->wanted_at < w->wanted_end; w->wanted_at++) {
		x = w->wanted + w->wanted_at;
		order = compare(&x->at, w->branches, w->signals);
		if (w->begun && !x->set && (!order || (order > 0 && follows)))
			note(w, x);
	}
}

/* ---- which threads are needed ---- */

struct needed {
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t nsegs;
	u64 *end;		/* of each thread: number of the first segment that is not needed */
};

static u64 *end_of(const struct needed *n, const struct dep_thread *t)
{
	return n->end + (t - (const struct dep_thread *)n->store->model.threads.row);
}

static bool is_needed(void *arg, const struct dep_segment *seg)
{
	const struct needed *n = arg;
	const struct dep_thread *t = dep_model_thread(&n->store->model, seg->thread);

	return t && (u64)(seg - n->segs) < *end_of(n, t);
}

/* A forked child has the stack of the thread that forked it, which may be such a child, too. */
static void need_parents(const struct needed *n, const struct dep_thread *t)
{
	const struct dep_thread *parent;

	while ((parent = t->parent ? dep_model_thread(&n->store->model, t->parent) : NULL)) {
		if (parent->process == t->process || *end_of(n, parent) == UINT64_MAX)
			return;
		*end_of(n, parent) = UINT64_MAX;
		t = parent;
	}
}

static int need(struct needed *n, const struct dep_position *at, size_t count)
{
	const struct dep_model *m = &n->store->model;
	const struct dep_thread *t;
	u64 *end;
	size_t i;

	n->nsegs = dep_store_segments(n->store, &n->segs);
	n->end = calloc(m->threads.n + 1, sizeof(*n->end));
	if (!n->end)
		return dep_fail(-ENOMEM, "contexts");
	for (i = 0; i < count; i++) {
		if (at[i].segment >= n->nsegs)
			continue;
		t = dep_model_thread(m, n->segs[at[i].segment].thread);
		if (!t)
			continue;
		/* The segment behind shows where the last record goes on. */
		end = end_of(n, t);
		if (*end < at[i].segment + 2ull)
			*end = at[i].segment + 2ull;
		need_parents(n, t);
	}
	return 0;
}

/* ---- the result ---- */

/* Frames that each stack has, if there are so many. */
#define MIN_FRAMES	256u

static int order_by_position(const void *x, const void *y)
{
	const struct dep_wanted *a = x, *b = y;

	if (a->at.segment != b->at.segment)
		return a->at.segment < b->at.segment ? -1 : 1;
	return compare(&a->at, b->at.branches, b->at.signals);
}

static int order_by_context(const void *x, const void *y)
{
	const struct dep_wanted *a = x, *b = y;

	if (a->set != b->set)
		return a->set ? -1 : 1;
	return a->ctx < b->ctx ? -1 : a->ctx > b->ctx;
}

static bool is_frame(const struct dep_node *node)
{
	return node->kind == DEP_CONTEXT_CALL || node->kind == DEP_CONTEXT_TAIL ||
	       node->kind == DEP_CONTEXT_SIGNAL;
}

/* Make the stack of context @ctx, with the innermost @limit frames. */
static int make_stack(const struct dep_walk *w, u32 ctx, size_t limit, struct dep_call_stack *out)
{
	const struct dep_node *all = w->tree.node, *node;
	struct dep_call_frame *frame;
	size_t n = 0;

	for (node = all + ctx; is_frame(node) && n < limit; node = all + node->parent)
		n++;
	out->incomplete = is_frame(node) || node->incomplete || node->kind == DEP_CONTEXT_ROOT;
	frame = calloc(n + 1, sizeof(*frame));
	if (!frame)
		return dep_fail(-ENOMEM, "call stacks");
	out->frame = frame;
	out->n = n;
	for (node = all + ctx; n--; node = all + node->parent)
		*frame++ = (struct dep_call_frame){ node->site, node->pc, node->kind, { 0 } };
	return 0;
}

/* Number of contexts with positions, which are sorted by context. */
static size_t count_contexts(const struct dep_walk *w)
{
	const struct dep_wanted *x = w->wanted;
	size_t n = 0, i;

	for (i = 0; i < w->nwanted && x[i].set; i++)
		n += !i || x[i].ctx != x[i - 1].ctx;
	return n;
}

/*
 * Positions in the same context share its stack.  Of the memory for frames, each stack may use its
 * part of what those before it left.  Contexts are sorted by number, so deep ones come late.
 */
static int take_stacks(struct dep_walk *w, struct dep_call_stacks *s)
{
	const struct dep_wanted *x, *before = NULL;
	size_t i, left = w->max_frames * sizeof(struct dep_activation) /
			 sizeof(struct dep_call_frame), limit, nstacks;
	int err;

	qsort(w->wanted, w->nwanted, sizeof(*w->wanted), order_by_context);
	nstacks = count_contexts(w);
	for (i = 0; i < w->nwanted && w->wanted[i].set; i++) {
		x = w->wanted + i;
		if (before && before->ctx == x->ctx) {
			s->stack[x->index] = s->stack[before->index];
		} else {
			limit = left / (nstacks - s->nown) + MIN_FRAMES;
			err = make_stack(w, x->ctx, limit, s->stack + x->index);
			if (err)
				return err;
			left -= s->stack[x->index].n < left ? s->stack[x->index].n : left;
			s->own[s->nown++] = (void *)s->stack[x->index].frame;
		}
		s->stack[x->index].found = true;
		before = x;
	}
	for (i = 0; i < w->nwanted; i++)
		s->stack[w->wanted[i].index].incomplete |= w->wanted[i].cut;
	return 0;
}

static int run(struct dep_walk *w, const struct dep_contexts_at_options *o,
	       const struct dep_position *at, struct dep_call_stacks *s)
{
	struct needed needed = { .store = w->store };
	const struct dep_contexts_options options = {
		.fold = { .jobs = o->jobs, .select = is_needed, .arg = &needed },
		.memory = o->memory,
	};
	struct dep_fold_loss loss;
	size_t i;
	int err;

	w->symbols = o->symbols;
	w->leaves = o->leaves;
	w->leaves_arg = o->arg;
	for (i = 0; i < s->n; i++)
		w->wanted[i] = (struct dep_wanted){ .at = at[i], .index = i };
	qsort(w->wanted, s->n, sizeof(*w->wanted), order_by_position);
	err = need(&needed, at, s->n);
	if (!err)
		err = dep_contexts_run(w, &options, &loss);
	if (!err)
		err = take_stacks(w, s);
	free(needed.end);
	return err;
}

int dep_contexts_at(struct dep_store *store, const struct dep_fragments *code,
		    const struct dep_position *at, size_t n,
		    const struct dep_contexts_at_options *options, struct dep_call_stacks **out)
{
	static const struct dep_contexts_at_options defaults;
	struct dep_call_stacks *s = calloc(1, sizeof(*s));
	struct dep_walk *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!s || !w)
		goto out;
	s->n = w->nwanted = n;
	s->stack = calloc(n + 1, sizeof(*s->stack));
	s->own = calloc(n + 1, sizeof(*s->own));
	w->wanted = calloc(n + 1, sizeof(*w->wanted));
	if (!s->stack || !s->own || !w->wanted)
		goto out;
	w->store = store;
	w->code = code;
	err = n ? run(w, options ? options : &defaults, at, s) : 0;
	dep_contexts_end(w);
out:
	if (err == -ENOMEM)
		dep_fail(err, "call stacks");
	if (w)
		free(w->wanted);
	free(w);
	if (err)
		dep_call_stacks_free(s);
	else
		*out = s;
	return err;
}

void dep_call_stacks_free(struct dep_call_stacks *s)
{
	if (!s)
		return;
	while (s->nown)
		free(s->own[--s->nown]);
	free(s->own);
	free(s->stack);
	free(s);
}
