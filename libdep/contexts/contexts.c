// SPDX-License-Identifier: LGPL-2.1-or-later
/* dep_contexts_make(): the fold from beginning to end, or the contexts that the store keeps. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "kept.h"
#include "kept_check.h"
#include "make.h"

/* Most that is used if the caller gives no limit. */
#define MEMORY		(1ull << 30)
/* Part of the memory that frames get. */
#define FRAMES_PART	4

/* By default as much as is plausible for a store of this size. */
static u64 memory_of(struct dep_store *store, const struct dep_contexts_options *o)
{
	u64 input, memory;

	if (o->memory)
		return o->memory;
	input = dep_store_input(store, MEMORY / DEP_BUDGET_FACTOR);
	memory = DEP_BUDGET_BASE + DEP_BUDGET_FACTOR * input;
	return memory < MEMORY ? memory : MEMORY;
}

int dep_contexts_run(struct dep_walk *w, const struct dep_contexts_options *o,
		     struct dep_fold_loss *loss)
{
	const struct dep_fold *folds[] = { &dep_contexts_fold };
	const struct dep_moves_source from = {
		.counts = o->counts, .jobs = o->fold.jobs, .leaves = w->leaves,
		.arg = w->leaves_arg,
	};
	u64 memory = memory_of(w->store, o), frame = sizeof(struct dep_activation);
	struct dep_moves *moves = NULL;
	void *selves[] = { w };
	int err;

	w->cache = dep_steps_to_new();
	if (w->follower)
		frame += sizeof(struct dep_progress);
	w->max_frames = memory / FRAMES_PART / frame;
	w->tree.times = o->times;
	err = o->per_ns ? dep_divide(&w->tree.division, w->store, &o->fold, o->per_ns) : 0;
	if (err)
		return err;
	err = dep_tree_init(&w->tree, memory - memory / FRAMES_PART);
	if (err || !w->cache)
		return dep_fail(-ENOMEM, "contexts");
	err = dep_moves_make(w->store, w->code, &moves);
	if (!err)
		err = dep_moves_entries(moves, &from);
	w->moves = moves;
	if (!err)
		dep_moves_make_hot(moves);
	if (!err)
		err = dep_fold_run(w->store, w->code, folds, selves, 1, &o->fold, loss);
	dep_moves_free(moves);
	w->moves = NULL;
	return err;
}

void dep_contexts_end(struct dep_walk *w)
{
	dep_strands_drop(w);
	dep_forked_free(w);
	dep_learned_free(w);
	dep_tree_free(&w->tree);
	dep_callers_free(w);
	free(w->strand);
	free(w->cache);
}

static int run(struct dep_walk *w, const struct dep_contexts_options *o, struct dep_contexts *out)
{
	int err = dep_contexts_run(w, o, &out->loss);

	if (!err)
		err = dep_tree_result(&w->tree, out);
	out->unknown_returns = w->unknown_returns;
	out->recovered = w->recovered;
	out->loss.segments += w->unread;
	out->not_counted += w->dropped_frames;
	return err;
}

/* The walk is NULL without memory. */
static struct dep_walk *walk_new(struct dep_store *store, const struct dep_fragments *code,
				 const struct dep_contexts_options *o)
{
	struct dep_walk *w = calloc(1, sizeof(*w));

	if (w) {
		w->store = store;
		w->code = code;
		w->symbols = o->symbols;
	}
	return w;
}

/* Run the walk, which the caller frees. */
static int make(struct dep_walk *w, const struct dep_contexts_options *o, struct dep_contexts **out)
{
	struct dep_contexts *c = w ? calloc(1, sizeof(*c)) : NULL;
	int err;

	if (!c)
		return dep_fail(-ENOMEM, "contexts");
	err = run(w, o, c);
	dep_contexts_end(w);
	if (err)
		dep_contexts_free(c);
	else
		*out = c;
	return err;
}

static const struct dep_contexts_options defaults;

int dep_contexts_watched(struct dep_store *store, const struct dep_fragments *code,
			 const struct dep_contexts_options *options,
			 void (*watch)(void *arg, const struct dep_watched_call *call), void *arg,
			 struct dep_contexts **out)
{
	const struct dep_contexts_options *o = options ? options : &defaults;
	struct dep_walk *w = walk_new(store, code, o);
	int err;

	if (w) {
		w->watch = watch;
		w->watch_arg = arg;
	}
	err = make(w, o, out);
	free(w);
	return err;
}

int dep_contexts_follow(struct dep_store *store, const struct dep_fragments *code,
			const struct dep_contexts_options *options,
			struct dep_follower *follower, struct dep_fold_loss *loss,
			u64 *not_counted)
{
	struct dep_walk *w = walk_new(store, code, options);
	int err;

	if (!w)
		return dep_fail(-ENOMEM, "contexts");
	w->follower = follower;
	err = dep_contexts_run(w, options, loss);
	dep_contexts_end(w);
	loss->segments += w->unread;
	*not_counted = w->dropped_frames + w->tree.not_counted;
	free(w);
	return err;
}

int dep_contexts_make(struct dep_store *store, const struct dep_fragments *code,
		      const struct dep_contexts_options *options, struct dep_contexts **out)
{
	return dep_contexts_watched(store, code, options, NULL, NULL, out);
}

/*
 * What symbols have found at an attach may differ the next time: they are not in the store.
 * Contexts of a process that is not in the log would be refused when they are read.  With little
 * memory, children lack the callers of their creators, which is not counted.
 */
static bool may_keep(const struct dep_walk *w, const struct dep_contexts_options *o,
		     const struct dep_contexts *c)
{
	if (o->memory && o->memory < memory_of(w->store, &defaults))
		return false;
	return !w->has_attach && !c->not_counted && !c->loss.segments;
}

int dep_contexts_make_kept(struct dep_store *store, const struct dep_fragments *code,
			   const struct dep_contexts_options *options, struct dep_contexts **out)
{
	const struct dep_contexts_options *o = options ? options : &defaults;
	struct dep_kept_key key;
	bool keep = !o->per_ns && dep_kept_key(&key, store, code, &o->fold);
	struct dep_walk *w;
	int err;

	if (keep && dep_kept_contexts_read(out, store, &key, o->times))
		return 0;
	w = walk_new(store, code, o);
	err = make(w, o, out);
	if (!err && keep && may_keep(w, o, *out) && dep_kept_contexts_fit(*out, store, o->times))
		dep_kept_contexts_write(*out, store, &key, o->times);
	free(w);
	return err;
}

void dep_contexts_free(struct dep_contexts *c)
{
	if (!c)
		return;
	free((void *)c->context);
	free((void *)c->share);
	free((void *)c->time);
	free((void *)c->interval);
	free(c);
}
