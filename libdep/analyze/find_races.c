// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The passes of race detection. Each pass reads the whole recording.
 *
 * The first pass finds the bytes that may race. It uses the redundant-access filter and plain
 * happens-before without SHB (schedulable happens-before), so it finds all racy bytes and some
 * others. Most programs have none; then the search is over. The exact passes look at these bytes
 * only.
 *
 * A word becomes atomic when a locked instruction accesses it; the plain accesses before count as
 * data accesses at first. If one of these accesses is in a race, the exact pass is repeated with
 * the word known to be atomic from the beginning, which orders more accesses and leaves fewer
 * races. The last pass collects the call stacks of the races. The same events give the same
 * intervals in each pass, so a race can be found again by its interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dep/races.h"
#include "libdep/format/file/error.h"
#include "libdep/analyze/sync/events.h"
#include "libdep/analyze/sync/predict_events.h"
#include "find_predicted.h"
#include "race_result.h"
#include "race_stacks.h"

#define MAX_PASSES	4

static const struct dep_process_filter *scope(void *self, const struct dep_thread *t)
{
	return sync_facts_note(self, t->process);
}

static int run(struct dep_store *store, const struct dep_races_options *o, struct sync_events *f,
	       struct dep_analysis *how)
{
	struct dep_analyzer a = {
		.name = "races", .want = DEP_WANT_REFS | DEP_WANT_FUNCTIONS,
		.scope = f->pass == SYNC_ALL ? NULL : scope,
		.items = sync_items, .gap = sync_gap, .end = sync_end,
		.segment = f->nwant ? sync_segment : NULL,
	};

	if (f->nwant || f->predict)
		a.want |= DEP_WANT_CALLS | DEP_WANT_JUMPS;
	f->nknown = f->words->n;
	f->nover_limit = 0;
	return dep_analyze(store, &a, f, &(struct dep_analyze_options){
		.jobs = o->jobs, .progress = o->progress,
	}, how);
}

/* ---- the first pass, live during the recording or afterwards ---- */

static void tell(struct sync_events *f, struct sync_process *p, const struct race_found *first)
{
	struct dep_race r = { 0 };

	if (sync_is_runtimes(f, p, first))
		return;
	races_describe(f, p, first, &r);
	pthread_mutex_lock(&f->asking);
	f->options->found(f->options->arg, &r);
	pthread_mutex_unlock(&f->asking);
}

static ssize_t tell_items(void *self, const struct dep_thread *thread,
			  const struct dep_item *items, size_t n, bool late)
{
	ssize_t ret = sync_items(self, thread, items, n, late);
	struct sync_events *f = self;
	struct sync_process *p;

	for (p = f->processes; p; p = p->next)
		while (p->live_reported < race_rows_count(p->rows))
			tell(f, p, &race_rows_get(p->rows, p->live_reported++)->first);
	return ret;
}

/* Run the first pass, live if requested; repeat it on the complete store if that fails. */
static int run_first(struct dep_store *store, const struct dep_races_options *o,
		     struct sync_events *f, struct dep_analysis *how, bool *again)
{
	struct dep_analyzer a = {
		.name = "races", .want = DEP_WANT_REFS | DEP_WANT_FUNCTIONS, .scope = scope,
		.items = o->found ? tell_items : sync_items, .gap = sync_gap, .end = sync_end,
		.foreseen = sync_call_foreseen,
	};
	int err;

	if (!o->live)
		return run(store, o, f, how);
	err = dep_analyze_live(store, &a, f, &(struct dep_analyze_options){
		.jobs = o->jobs, .progress = o->progress,
	}, o->live, how);
	if (err != -ESTALE)
		return err;
	*again = true;
	sync_free(f);
	return run(store, o, f, how);
}

/* ---- atomic words ---- */

static bool is_known(const struct sync_words *w, u32 process, u64 word)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->v[i].process == process && w->v[i].word == word)
			return true;
	return false;
}

static int learn(struct sync_words *w, u32 process, u64 word)
{
	size_t room;
	void *more;

	if (is_known(w, process, word))
		return 0;
	if (w->n == w->room) {
		room = w->room ? w->room * 2 : 64;
		more = realloc(w->v, room * sizeof(*w->v));
		if (!more)
			return dep_fail(-ENOMEM, "races");
		w->v = more;
		w->room = room;
	}
	w->v[w->n].process = process;
	w->v[w->n++].word = word;
	return 0;
}

static bool said(const struct sync_events *sync, const struct sync_process *p,
		 const struct race_access *a)
{
	const struct dep_races_options *o = sync->options;

	return o->says_atomic && !(a->flags & RACE_ATOMIC) &&
	       o->says_atomic(o->arg, sync_image_at(sync, p, a->thread)->serial, a->pc);
}

/* Is the word atomic by its type, or do both instructions access it by atomic operations? */
static bool is_atomic(const struct sync_events *sync, const struct sync_process *p,
		      const struct race_found *f)
{
	return races_asks_atomic(sync, p, f, &f->prior) ||
	       races_asks_atomic(sync, p, f, &f->current) ||
	       (said(sync, p, &f->prior) && said(sync, p, &f->current));
}

/* Add words to sync->words that turned out to be atomic and have a race with a plain access. */
static int learn_from(const struct sync_events *sync, const struct sync_process *p)
{
	struct sync_words *w = sync->words;
	const struct race_row *row;
	const struct race_found *f;
	u32 i, flags;
	u64 word;
	int err = 0;

	for (i = 0; i < race_rows_count(p->rows) && !err; i++) {
		row = race_rows_get(p->rows, i);
		f = &row->first;
		flags = f->prior.flags | f->current.flags;
		if (flags & SYNC_MAYBE_ATOMIC || row->high - row->low > 64)
			continue;
		for (word = row->low / 4; word <= row->high / 4 && !err; word++)
			if (sync_object_find(&p->objects, SYNC_WORD, word) ||
			    sync_is_spin_word(sync, p, word))
				err = learn(w, p->serial, word);
		if (err || !is_atomic(sync, p, f))
			continue;
		for (word = f->address / 4; word <= (f->address + f->size - 1) / 4 && !err; word++)
			err = learn(w, p->serial, word);
	}
	return err;
}

/* ---- results for the caller ---- */

static size_t count_rows(const struct sync_events *f)
{
	const struct sync_process *p;
	size_t n = 0;
	u32 i;

	for (p = f->processes; p; p = p->next)
		for (i = 0; i < race_rows_count(p->rows); i++)
			n += !sync_is_runtimes(f, p, &race_rows_get(p->rows, i)->first);
	return n;
}

static int take_rows(struct sync_events *f, struct dep_races *out, struct sync_stack **want)
{
	const struct race_row *row;
	struct sync_process *p;
	struct sync_stack *w;
	struct dep_race *r;
	u32 i;

	out->n = count_rows(f);
	r = out->race = calloc(out->n + 1, sizeof(*out->race));
	w = *want = calloc(2 * out->n + 1, sizeof(**want));
	if (!out->race || !*want)
		return dep_fail(-ENOMEM, "races");
	for (p = f->processes; p; p = p->next) {
		for (i = 0; i < race_rows_count(p->rows); i++) {
			row = race_rows_get(p->rows, i);
			if (sync_is_runtimes(f, p, &row->first))
				continue;
			races_fill(f, p, &row->first, r, w);
			r++->count = row->count;
			w += 2;
		}
	}
	return 0;
}

/* Drop races whose call stacks show that they are inside libraries. */
static void drop_librarys(struct sync_events *f, struct dep_races *out,
			  struct sync_stack *want)
{
	size_t i, n = 0;

	for (i = 0; i < out->n; i++) {
		if (sync_is_librarys(f, &want[2 * i], &want[2 * i + 1])) {
			races_free_stack(&want[2 * i]);
			races_free_stack(&want[2 * i + 1]);
			free(out->race[i].step);
			continue;
		}
		out->race[n] = out->race[i];
		want[2 * n] = want[2 * i];
		want[2 * n + 1] = want[2 * i + 1];
		n++;
	}
	out->n = n;
}

static void give_block(struct dep_race *r, const struct sync_stack *w)
{
	r->block = w->block;
	r->block_size = w->block_size;
	r->owner = w->origin->serial;
	r->owner_tid = w->origin->tid;
	r->allocated = w->origin->place.frame;
	r->nallocated = w->origin->place.nframes;
}

static void give_held(struct dep_race_access *a, const struct sync_stack *w,
		      struct dep_held_lock *to)
{
	const struct sync_lock *l = w->held;
	u32 i;

	a->held = to;
	a->nheld = w->nheld;
	a->held_missing = (w->held_lost ? DEP_LOCK_LOST : 0) |
			  (w->held_unseen ? DEP_LOCK_UNSEEN : 0);
	a->own_pc = w->own_pc;
	a->own_address = w->own_address;
	for (i = 0; i < w->nheld; i++, l++)
		to[i] = (struct dep_held_lock){
			.kind = l->how == SYNC_TAKES_MUTEX ? DEP_LOCK_MUTEX :
				l->how == SYNC_TAKES_SPIN ? DEP_LOCK_SPIN : DEP_LOCK_RW,
			.reading = l->how == SYNC_TAKES_READ, .address = l->address,
			.call = l->place.frame, .ncalls = l->place.nframes,
			.block = l->block, .block_size = l->block_size,
		};
}

static int give_stacks(struct sync_events *f, struct dep_races *out, struct sync_stack *want)
{
	struct dep_race_access *a;
	struct dep_held_lock *held;
	size_t i, n = 0;
	int err;

	err = races_find_stacks(f, want, 2 * out->n);
	if (err)
		return err;
	drop_librarys(f, out, want);
	for (i = 0; i < 2 * out->n; i++)
		n += want[i].nheld;
	held = out->held = calloc(n + 1, sizeof(*held));
	if (!held)
		return dep_fail(-ENOMEM, "races");
	for (i = 0; i < 2 * out->n; i++) {
		a = &out->race[i / 2].access[i % 2];
		a->thread = want[i].thread;
		a->tid = want[i].tid;
		a->call = want[i].place.frame;
		a->ncalls = want[i].place.nframes;
		a->incomplete = want[i].place.incomplete;
		a->creator = want[i].creator;
		a->creator_tid = want[i].creator_tid;
		a->created = want[i].birth.frame;
		a->ncreated = want[i].birth.nframes;
		give_held(a, &want[i], held);
		held += want[i].nheld;
		/* Take the heap block of either access: after a free the second one has none. */
		if (want[i].origin)
			give_block(&out->race[i / 2], &want[i]);
	}
	return 0;
}

/* Run the exact pass, and again while it finds new atomic words (at most MAX_PASSES times more). */
static int find_exactly(struct dep_store *store, const struct dep_races_options *o,
			struct sync_events *f, struct dep_analysis *how)
{
	struct sync_process *p;
	int pass, err = 0;

	for (pass = 0; !err; pass++) {
		sync_free(f);
		err = sync_facts_want(f);
		if (!err)
			err = run(store, o, f, how);
		for (p = f->processes; p && !err; p = p->next)
			err = learn_from(f, p);
		if (f->words->n == f->nknown || pass == MAX_PASSES)
			break;
	}
	for (p = f->processes; p && !err; p = p->next)
		if (race_rows_lost(p->rows))
			err = dep_fail(-ENOMEM, "races");
	return err;
}

/* Run two more passes for prediction; the second one also finds all races that happened. */
static int predict(struct dep_store *store, struct sync_events *f, struct dep_races *out,
		   struct sync_stack **want)
{
	struct dep_analysis how;
	int err;

	sync_free(f);
	f->pass = SYNC_ALL;
	f->predict = true;
	err = run(store, f->options, f, &how);
	sync_free(f);
	sync_thread_logs_again(f);
	if (!err)
		err = run(store, f->options, f, &how);
	if (!err)
		err = take_rows(f, out, want);
	if (!err)
		err = races_predict(f, out, want);
	sync_free(f);
	sync_thread_logs_free(f);
	f->predict = false;
	return err;
}

int dep_races_find(struct dep_store *store, const struct dep_races_options *options,
		   struct dep_races *out)
{
	struct sync_words words = { 0 };
	struct sync_shared_maps shares = { 0 };
	struct sync_events f = {
		.store = store, .options = options, .words = &words, .shares = &shares,
	};
	struct sync_stack *want = NULL;
	struct dep_analysis how;
	int err;

	if (dep_store_last(store, &f.last) && f.last.from_timestamp) {
		/* Mappings and locks of shared memory may be unknown: examine each image alone. */
		f.from = f.last.from_timestamp;
		f.shares = NULL;
		if (options->predict)
			return dep_fail(-EINVAL, "races cannot be predicted from the last part "
					"of a recording (--last)");
	}
	memset(out, 0, sizeof(*out));
	pthread_mutex_init(&f.asking, NULL);
	f.pass = SYNC_FIRST;
	err = run_first(store, options, &f, &how, &out->again);
	if (!err)
		err = sync_facts_learn(&f);
	if (!err)
		err = sync_shared_maps_resolve(&shares);
	f.pass = SYNC_EXACT;
	out->gaps = how.gaps;
	out->disorder = how.disorder;
	out->references = how.counts.refs;
	if (!err)
		err = sync_facts_want(&f);
	if (!err)
		err = find_exactly(store, options, &f, &how);
	out->unsettled = words.n - f.nknown;
	if (err >= 0 && options->predict)
		err = predict(store, &f, out, &want);
	else if (!err)
		err = take_rows(&f, out, &want);
	sync_free(&f);
	if (!err && out->n) {
		f.want = want;
		f.nwant = 2 * out->n;
		err = run(store, options, &f, &how);
		if (!err)
			err = give_stacks(&f, out, want);
	}
	sync_free(&f);
	out->too_many_threads = f.nover_limit;
	sync_facts_free(&f);
	sync_shared_maps_free(&shares);
	sync_insns_free(&f.insns);
	pthread_mutex_destroy(&f.asking);
	free(words.v);
	out->own = want;
	/* sync_facts_want() returns 1 if no byte may race: that is success without races. */
	if (err < 0)
		dep_races_free(out);
	return err < 0 ? err : 0;
}

void dep_races_free(struct dep_races *r)
{
	struct sync_stack *want = r->own;
	size_t i;

	for (i = 0; want && i < 2 * r->n; i++)
		races_free_stack(&want[i]);
	for (i = 0; r->race && i < r->n; i++)
		free(r->race[i].step);
	free(want);
	free(r->held);
	free(r->race);
	memset(r, 0, sizeof(*r));
}
