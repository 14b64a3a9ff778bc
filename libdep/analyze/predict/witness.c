// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Witness of a predicted race: an order of the closure's events, with few thread switches.
 *
 * The witness keeps the recorded order of accesses to the same byte, of critical sections of the
 * same lock, and of other synchronisation. So each read gets its recorded value. Sections that the
 * closure keeps open come after all other sections of their lock; if that is impossible, there is
 * no witness.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct run {
	struct sp_closure *i;
	u64 *at;		/* by thread: number of events that have run */
	u32 *taken;		/* by thread: number of critical sections begun */
	/* by lock: all sections below this index have ended, or are kept open */
	u32 *done;
	struct predict_race *r;
	struct predict_step *step;
};

/*
 * Find the first event of @thread that must wait for an event of @other that has not run. Return:
 * its number, or @until if there is none below @until.
 */
static u64 blocked_by(const struct run *w, const struct predict_edges *e, u32 thread, u32 other,
		      u64 until, u32 *place)
{
	u64 have = w->at[other];
	u32 low = 0, high = e->n, mid;

	if (have >= w->i->cut[other])
		return until;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (e->v[mid].need <= have)
			low = mid + 1;
		else
			high = mid;
	}
	/* Skip edges of events that have run already. */
	for (; low < e->n && e->v[low].at < w->at[thread]; w->i->work++)
		low++;
	if (low == e->n || e->v[low].at >= until)
		return until;
	*place = e->v[low].place;
	return e->v[low].at;
}

static void count_sections(const struct run *w, struct predict_step *s, u32 thread, u64 from,
			   u64 to)
{
	const struct predict_thread *t = &w->i->p->thread[thread];
	u32 low = 0, high = t->ntaken, mid, n = PREDICT_SECTIONS;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->taken[mid].at < to)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low && t->taken[low - 1].at >= from; w->i->work++) {
		const struct predict_taken *x = &t->taken[--low];
		const struct predict_lock *l = &w->i->p->lock[x->lock];
		const struct predict_locked *y = &l->section[x->section];

		/* Sections without a code place are not reported. */
		if (!y->place)
			continue;
		s->nsections++;
		if (n)
			s->section[--n] = (struct predict_section){ l->address, y->place,
								    y->reading };
	}
	memmove(s->section, s->section + n, (PREDICT_SECTIONS - n) * sizeof(*s->section));
}

static bool races(const struct run *w, u32 thread)
{
	return thread == w->r->found.prior.thread || thread == w->r->found.current.thread;
}

static void add_step(struct run *w, u32 thread, u64 from, u32 place)
{
	struct predict_step *s = &w->step[w->r->nsteps];
	u64 to = w->at[thread];
	bool done = to == w->i->cut[thread];

	if (w->r->nsteps == PREDICT_STEPS) {
		w->r->more_steps++;
		return;
	}
	w->r->nsteps++;
	*s = (struct predict_step){
		.thread = thread, .to = to, .place = done ? w->i->why[thread] : place,
		.end = !done ? PREDICT_BEFORE : races(w, thread) ? PREDICT_ACCESS :
		       PREDICT_AFTER,
	};
	count_sections(w, s, thread, from, to);
}

/* Has section @x of @lock ended when @thread has run its events below @at? */
static bool is_over(const struct run *w, u32 lock, u32 x, u32 thread, u64 at)
{
	const struct predict_locked *s = &w->i->p->lock[lock].section[x];

	return s->from >= w->i->cut[s->thread] ||
	       s->to < (s->thread == thread ? at : w->at[s->thread]);
}

static bool is_too_much(const struct run *w)
{
	return w->i->limit && w->i->work > w->i->limit;
}

static bool may_take(struct run *w, u32 lock, u32 x)
{
	const struct predict_locked *all = w->i->p->lock[lock].section;
	bool kept = sp_closure_keeps(w->i, lock, x);
	u32 y, end = kept ? w->i->open[lock].last : x, thread = all[x].thread;
	u64 at = all[x].from;

	for (; w->done[lock] < end; w->done[lock]++)
		if (!is_over(w, lock, w->done[lock], thread, at) &&
		    !sp_closure_keeps(w->i, lock, w->done[lock]))
			break;
	for (y = w->done[lock]; y < end && !is_too_much(w); y++, w->i->work++)
		if (y != x && all[y].thread != thread &&
		    !(all[y].reading && all[x].reading) &&
		    !is_over(w, lock, y, thread, at) && !sp_closure_keeps(w->i, lock, y))
			return false;
	return !is_too_much(w);
}

/*
 * Take the locks of @thread's events below @to. Return: the first event that must wait for a lock,
 * or @to.
 */
static u64 take_locks(struct run *w, u32 thread, u64 to, u32 *place)
{
	const struct predict_thread *t = &w->i->p->thread[thread];
	u32 *k = &w->taken[thread];

	for (; *k < t->ntaken && t->taken[*k].at < to; ++*k, w->i->work++) {
		if (may_take(w, t->taken[*k].lock, t->taken[*k].section))
			continue;
		*place = w->i->p->lock[t->taken[*k].lock].section[t->taken[*k].section].place;
		return t->taken[*k].at;
	}
	return to;
}

static bool go_on(struct run *w, u32 thread)
{
	const struct predict_order *o = &w->i->p->thread[thread].soft;
	u64 from = w->at[thread], to = w->i->cut[thread];
	u32 c, place = 0;

	if (from == to)
		return false;
	w->i->work += 4 * o->n + 1;
	for (c = 0; c < o->n; c++)
		if (c != thread && o->by[c].n)
			to = blocked_by(w, &o->by[c], thread, c, to, &place);
	to = take_locks(w, thread, to, &place);
	if (to <= from)
		return false;
	w->at[thread] = to;
	add_step(w, thread, from, place);
	return true;
}

static bool all_done(const struct run *w)
{
	u32 t, n = w->i->p->nthreads;

	for (t = 0; t < n; t++)
		if (w->at[t] < w->i->cut[t])
			return false;
	return true;
}

/* Add an empty step for a racing thread whose access is its first event. */
static void add_idle(struct run *w, u32 thread)
{
	if (!w->i->cut[thread])
		add_step(w, thread, 0, 0);
}

int predict_witness(struct sp_closure *i, struct predict_race *r, struct predict_step *step)
{
	struct run w = { .i = i, .r = r, .step = step };
	u32 t, turn, n = i->p->nthreads;
	bool moved = true;

	w.at = calloc(n + 1, sizeof(*w.at));
	w.taken = calloc(n + 1, sizeof(*w.taken));
	w.done = calloc(i->p->nlocks + 1, sizeof(*w.done));
	if (!w.at || !w.taken || !w.done) {
		free(w.at);
		free(w.taken);
		free(w.done);
		return -ENOMEM;
	}
	r->step = step;
	r->nsteps = 0;
	r->more_steps = 0;
	i->work += 4 * n + i->p->nlocks;
	while (moved && !is_too_much(&w) && !all_done(&w)) {
		moved = false;
		/* Run the racing threads last, so that the witness ends with them. */
		for (turn = 0; turn < 2; turn++)
			for (t = 0; t < n; t++)
				if (races(&w, t) == (turn == 1))
					moved |= go_on(&w, t);
	}
	add_idle(&w, r->found.prior.thread);
	add_idle(&w, r->found.current.thread);
	moved = all_done(&w);
	free(w.at);
	free(w.taken);
	free(w.done);
	return moved ? 0 : 1;
}
