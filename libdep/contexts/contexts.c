// SPDX-License-Identifier: LGPL-2.1-or-later
/* dep_contexts_make(): the fold from beginning to end. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
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
	u64 memory = memory_of(w->store, o);
	struct dep_moves *moves = NULL;
	void *selves[] = { w };
	int err;

	w->cache = calloc(DEP_STEPS_TO, sizeof(*w->cache));
	w->max_frames = memory / FRAMES_PART / sizeof(struct dep_activation);
	w->tree.times = o->times;
	err = dep_tree_init(&w->tree, memory - memory / FRAMES_PART);
	if (err || !w->cache)
		return dep_fail(-ENOMEM, "contexts");
	err = dep_moves_make(w->store, w->code, &moves);
	if (!err)
		err = dep_moves_entries(moves, o->fold.jobs, w->leaves, w->leaves_arg);
	w->moves = moves;
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

int dep_contexts_watched(struct dep_store *store, const struct dep_fragments *code,
			 const struct dep_contexts_options *options,
			 void (*watch)(void *arg, const struct dep_watched_call *call), void *arg,
			 struct dep_contexts **out)
{
	static const struct dep_contexts_options defaults;
	struct dep_contexts *c = calloc(1, sizeof(*c));
	struct dep_walk *w = calloc(1, sizeof(*w));
	int err;

	if (!c || !w) {
		err = dep_fail(-ENOMEM, "contexts");
		goto out;
	}
	w->store = store;
	w->code = code;
	w->watch = watch;
	w->watch_arg = arg;
	w->symbols = options ? options->symbols : NULL;
	err = run(w, options ? options : &defaults, c);
	dep_contexts_end(w);
out:
	free(w);
	if (err)
		dep_contexts_free(c);
	else
		*out = c;
	return err;
}

int dep_contexts_make(struct dep_store *store, const struct dep_fragments *code,
		      const struct dep_contexts_options *options, struct dep_contexts **out)
{
	return dep_contexts_watched(store, code, options, NULL, NULL, out);
}

void dep_contexts_free(struct dep_contexts *c)
{
	if (!c)
		return;
	free((void *)c->context);
	free((void *)c->share);
	free((void *)c->time);
	free(c);
}
