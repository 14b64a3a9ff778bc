// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Run folds over a store, or over a part of it.
 *
 * The segments are divided into units: successive segments of one thread.  Workers take units in
 * order, each with parts of its own.  An ordered fold has one worker, and units are whole threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "run.h"
#include "walk.h"

#define MAX_JOBS	64u

u64 dep_fold_unit_bytes = 16ull << 20;

struct unit {
	const struct dep_thread *thread;
	const struct dep_segment *seg;
	size_t n;
	enum dep_walk_from from;
	bool last;		/* the thread's last unit in this pass */
};

struct crew {
	struct dep_store *store;
	const struct dep_fragments *code;
	const struct dep_fold *const *folds;
	size_t nfolds;
	const struct dep_fold_options *options;
	const struct dep_segment *segs, *segs_end;
	const bool *deliver;	/* by index in @segs; NULL: all */
	size_t nsegs;
	bool ordered;
	bool scans;		/* for the one fold, which has marked() */
	bool sequences;		/* a fold needs their numbers */
	struct unit *unit;
	size_t nunits, room;
	size_t selected;	/* number of segments in all units */
	u64 orphans;		/* number of segments without a thread */
	pthread_mutex_t lock;	/* protects what follows, and callbacks of options */
	size_t next, done;	/* units taken; segments done */
	int err;		/* of the first unit in order that failed */
	size_t err_unit;
	char why[512];
};

struct worker {
	pthread_t id;
	struct crew *crew;
	struct dep_walk walk;
	bool started;
};

static bool is_selected(const struct crew *c, const struct dep_thread *t,
			const struct dep_segment *seg)
{
	const struct dep_fold_options *o = c->options;

	return t && (!o->thread || o->thread == t->serial) &&
	       (!o->process || o->process == t->process) && seg->start_ns >= o->from_ns &&
	       (!o->to_ns || seg->start_ns < o->to_ns) && (!o->select || o->select(o->arg, seg));
}

static bool is_delivered(const struct crew *c, const struct dep_segment *seg)
{
	return !c->deliver || c->deliver[seg - c->segs];
}

static struct unit *add_unit(struct crew *c)
{
	size_t room = c->room ? 2 * c->room : 64;
	struct unit *p;

	if (c->nunits == c->room) {
		p = realloc(c->unit, room * sizeof(*p));
		if (!p)
			return NULL;
		c->unit = p;
		c->room = room;
	}
	return &c->unit[c->nunits++];
}

/* True if @seg, the last one of unit @u so far, may be followed by @to in the unit. */
static bool joins(const struct crew *c, const struct unit *u, u64 bytes,
		  const struct dep_segment *seg, const struct dep_segment *to)
{
	return seg + 1 == to && seg->thread == to->thread && is_delivered(c, to) &&
	       is_selected(c, u->thread, to) && (c->ordered || bytes < dep_fold_unit_bytes);
}

/* What stands in front of @seg, the first segment of a unit. */
static enum dep_walk_from what_is_before(const struct crew *c, const struct dep_thread *t,
					 const struct dep_segment *seg)
{
	if (seg == c->segs || seg[-1].thread != seg->thread || !is_selected(c, t, seg - 1))
		return DEP_WALK_FIRST;
	return seg[-1].seq + 1 == seg->seq ? DEP_WALK_FOLLOWS : DEP_WALK_BEHIND_GAP;
}

/* The log has lost the thread of @seg. */
static void report_orphan(struct crew *c, const struct dep_segment *seg)
{
	char why[80];

	c->orphans++;
	snprintf(why, sizeof(why), "the log has no thread %u", seg->thread);
	if (c->options->failed)
		c->options->failed(c->options->arg, seg, why);
}

static int make_units(struct crew *c)
{
	const struct dep_segment *seg = c->segs, *end = c->segs_end;
	const struct dep_thread *t = NULL;
	struct unit *u;
	u64 bytes;

	while (seg < end) {
		if (!is_delivered(c, seg)) {
			seg++;
			continue;
		}
		if (!t || t->serial != seg->thread)
			t = dep_model_thread(&c->store->model, seg->thread);
		if (!t)
			report_orphan(c, seg);
		if (!is_selected(c, t, seg)) {
			seg++;
			continue;
		}
		if (c->nunits)
			c->unit[c->nunits - 1].last = c->unit[c->nunits - 1].thread != t;
		u = add_unit(c);
		if (!u)
			return dep_fail(-ENOMEM, "list of segments");
		*u = (struct unit){ .thread = t, .seg = seg, .n = 1, .last = true };
		u->from = what_is_before(c, t, seg);
		bytes = seg->control_bytes;
		while (++seg < end && joins(c, u, bytes, seg - 1, seg)) {
			bytes += seg->control_bytes;
			u->n++;
		}
		c->selected += u->n;
	}
	return 0;
}

static int run_unit(struct worker *w, const struct unit *u)
{
	struct crew *c = w->crew;
	int err = dep_walk_run(&w->walk, u->thread, u->seg, u->n, u->from);
	size_t i;

	for (i = 0; i < c->nfolds && !err && u->last; i++)
		if (c->folds[i]->end)
			err = c->folds[i]->end(w->walk.part[i], u->thread);
	return err;
}

static void end_unit(struct crew *c, size_t number, int err)
{
	pthread_mutex_lock(&c->lock);
	c->done += c->unit[number].n;
	if (err && (!c->err || number < c->err_unit)) {
		c->err = err;
		c->err_unit = number;
		strncpy(c->why, dep_error(), sizeof(c->why) - 1);
	}
	if (c->options->progress)
		c->options->progress(c->options->arg, c->done, c->selected);
	pthread_mutex_unlock(&c->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct crew *c = w->crew;
	size_t number;

	while (1) {
		pthread_mutex_lock(&c->lock);
		number = c->err ? c->nunits : c->next;
		c->next += number < c->nunits;
		pthread_mutex_unlock(&c->lock);
		if (number >= c->nunits)
			return NULL;
		end_unit(c, number, run_unit(w, &c->unit[number]));
	}
}

static int begin_worker(struct crew *c, struct worker *w, void *const *selves)
{
	size_t i;

	w->crew = c;
	w->walk = (struct dep_walk){
		.store = c->store, .code = c->code, .numbers = &dep_code_made(c->code)->numbers,
		.folds = c->folds, .nfolds = c->nfolds, .segments_end = c->segs_end,
		.options = c->options, .lock = &c->lock,
	};
	if (c->sequences && dep_sequences_init(&w->walk.sequences))
		return dep_fail(-ENOMEM, "sequences");
	w->walk.part = calloc(c->nfolds + 1, sizeof(*w->walk.part));
	for (i = 0; w->walk.part && i < c->nfolds; i++) {
		w->walk.part[i] = c->folds[i]->part(selves[i], c->code);
		if (!w->walk.part[i])
			return dep_fail(-ENOMEM, "%s", c->folds[i]->name);
	}
	if (w->walk.part && c->scans)
		w->walk.scan = dep_scan_new(&w->walk);
	return w->walk.part && (w->walk.scan || !c->scans) ? 0 : dep_fail(-ENOMEM, "folds");
}

/* Join the worker's parts to the results.  Return: @err, or else the first error. */
static int end_worker(struct crew *c, struct worker *w, void *const *selves, int err)
{
	size_t i;
	int ret;

	for (i = 0; w->walk.part && i < c->nfolds; i++) {
		ret = w->walk.part[i] ? c->folds[i]->join(selves[i], w->walk.part[i]) : 0;
		if (ret && !err)
			err = ret;
	}
	free(w->walk.part);
	dep_walk_free(&w->walk);
	return err;
}

/* The first worker is the calling thread. If a thread cannot start, the others do its work. */
static int run_workers(struct crew *c, unsigned int jobs, void *const *selves,
		       struct dep_fold_loss *loss)
{
	struct worker *w = calloc(jobs, sizeof(*w));
	unsigned int i, n;
	int err = 0;

	if (!w)
		return dep_fail(-ENOMEM, "workers");
	for (n = 0; n < jobs && !err; n++)
		err = begin_worker(c, &w[n], selves);
	for (i = 1; i < n && !err; i++)
		w[i].started = !pthread_create(&w[i].id, NULL, work, &w[i]);
	if (!err)
		work(&w[0]);
	for (i = 1; i < n; i++)
		if (w[i].started)
			pthread_join(w[i].id, NULL);
	if (!err && c->err)
		err = c->err < 0 ? dep_fail_again(c->err, c->why) : c->err;
	for (i = 0; i < n; i++) {
		loss->segments += w[i].walk.loss.segments;
		loss->gaps += w[i].walk.loss.gaps;
		err = end_worker(c, &w[i], selves, err);
	}
	free(w);
	return err;
}

/* @jobs, or as many workers as may have tables in a store of this size. */
static unsigned int limit_tables(const struct crew *c, unsigned int jobs)
{
	u64 most = dep_budget_fold(0) / DEP_SEQUENCES_BYTES;

	if (jobs > most)
		most = dep_budget_fold(dep_store_input(c->store, jobs * DEP_SEQUENCES_BYTES)) /
		       DEP_SEQUENCES_BYTES;
	return jobs < most ? jobs : (unsigned int)most;
}

static unsigned int count_jobs(const struct crew *c, unsigned int asked)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int jobs = asked ? asked : processors > 0 ? (unsigned int)processors : 1;

	if (jobs > MAX_JOBS)
		jobs = MAX_JOBS;
	if (jobs > c->nunits)
		jobs = (unsigned int)c->nunits;
	if (c->ordered || jobs < 2)
		return 1;
	return dep_store_jobs(c->store, c->segs, c->nsegs, limit_tables(c, jobs));
}

int dep_fold_pass(struct dep_store *store, const struct dep_fragments *code,
		  const struct dep_fold_batch *batch, const struct dep_fold *const *folds,
		  void *const *selves, size_t n, const struct dep_fold_options *options,
		  struct dep_fold_loss *loss)
{
	static const struct dep_fold_options defaults;
	struct dep_fold_loss none = { 0 };
	struct crew c = {
		.store = store, .code = code, .folds = folds, .nfolds = n,
		.options = options ? options : &defaults, .lock = PTHREAD_MUTEX_INITIALIZER,
	};
	size_t i;
	int err;

	c.segs = batch->seg;
	c.nsegs = batch->n;
	c.deliver = batch->deliver;
	c.segs_end = c.nsegs ? c.segs + c.nsegs : c.segs;
	for (i = 0; i < n; i++) {
		c.ordered |= folds[i]->ordered;
		c.scans |= folds[i]->marked != NULL;
		c.sequences |= folds[i]->sequences != NULL;
	}
	if (c.scans && n > 1)
		return dep_fail(-EINVAL, "a fold that marks exits does not run with others");
	err = make_units(&c);
	if (!err)
		err = run_workers(&c, count_jobs(&c, c.options->jobs), selves, &none);
	none.segments += c.orphans;
	if (loss)
		*loss = none;
	free(c.unit);
	return err;
}

int dep_fold_run(struct dep_store *store, const struct dep_fragments *code,
		 const struct dep_fold *const *folds, void *const *selves, size_t n,
		 const struct dep_fold_options *options, struct dep_fold_loss *loss)
{
	struct dep_fold_batch all = { 0 };

	all.n = dep_store_segments(store, &all.seg);
	return dep_fold_pass(store, code, &all, folds, selves, n, options, loss);
}
