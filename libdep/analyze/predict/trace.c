// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Race prediction: events of threads, locks and other synchronisation.
 *
 * In the first pass event numbers increase with each release. Vector clocks contain all recorded
 * order except that of locks and that between a write and a read of its value. This is less order
 * than exists, so some words become candidates without need. In the second pass each event has its
 * own number, and edges store which events it needs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int predict_reach(struct predict *p, u32 thread)
{
	struct predict_thread *t;
	int err = 0;

	while (p->nthreads <= thread && !err) {
		predict_more(p, p->thread, p->nthreads, &p->threads_room, &err);
		if (err)
			break;
		t = &p->thread[p->nthreads++];
		memset(t, 0, sizeof(*t));
		err = predict_set(p, t, &t->set);
	}
	return err;
}

static int raise_clock(struct predict *p, struct predict_thread *t, u32 other, u64 need)
{
	u64 *more;
	u32 n = other + 16;

	if (other >= t->nclock) {
		if (p->limit && n * sizeof(*more) > p->limit - p->bytes)
			return -ENOSPC;
		more = realloc(t->clock, n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + t->nclock, 0, (n - t->nclock) * sizeof(*more));
		p->bytes += (n - t->nclock) * sizeof(*more);
		t->clock = more;
		t->nclock = n;
	}
	if (t->clock[other] < need)
		t->clock[other] = need;
	return 0;
}

/* Add an edge to @o. Return: 1 if it was added, 0 if other edges imply it, or a negative errno. */
static int edge(struct predict *p, struct predict_order *o, u64 at, u32 other, u64 need,
		u32 place)
{
	struct predict_edges *e, *more;
	u32 n = other + 8;
	int err;

	if (predict_need_of(o, other) >= need)
		return 0;
	if (other >= o->n) {
		if (p->limit && n * sizeof(*more) > p->limit - p->bytes)
			return -ENOSPC;
		more = realloc(o->by, n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + o->n, 0, (n - o->n) * sizeof(*more));
		p->bytes += (n - o->n) * sizeof(*more);
		o->by = more;
		o->n = n;
	}
	e = &o->by[other];
	if (e->n && e->v[e->n - 1].at == at) {
		e->v[e->n - 1].need = need;
		e->v[e->n - 1].place = place;
		return 1;
	}
	predict_more(p, e->v, e->n, &e->room, &err);
	if (err)
		return err;
	e->v[e->n++] = (struct predict_edge){ at, need, place };
	p->edges++;
	return 1;
}

int predict_hard(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place)
{
	struct predict_thread *t = &p->thread[thread];
	int ret = edge(p, &t->hard, at, other, need, place);

	if (ret > 0)
		t->slot++;
	return ret;
}

int predict_soft(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place)
{
	int ret = edge(p, &p->thread[thread].soft, at, other, need, place);

	return ret < 0 ? ret : 0;
}

/* Order the next event of @thread after the first @need events of @other. */
static int after(struct predict *p, u32 thread, u32 other, u64 need, u32 from, u32 place)
{
	struct predict_thread *t = &p->thread[thread];
	u64 at = t->now;
	int err;

	if (!need || other == thread)
		return 0;
	if (!p->again)
		return raise_clock(p, t, other, need);
	err = predict_hard(p, thread, at, other, need, from);
	return err < 0 ? err : predict_soft(p, thread, at, other, need, place);
}

static int reach_sync(struct predict *p, struct predict_sync *s, u32 other)
{
	void *more;
	u32 n = other + 8;

	if (other >= s->n) {
		if (p->limit && n * sizeof(*s->v) > p->limit - p->bytes)
			return -ENOSPC;
		more = realloc(s->v, n * sizeof(*s->v));
		if (!more)
			return -ENOMEM;
		s->v = more;
		memset(s->v + s->n, 0, (n - s->n) * sizeof(*s->v));
		p->bytes += (n - s->n) * sizeof(*s->v);
		s->n = n;
	}
	return 0;
}

static int release(struct predict *p, struct predict_sync *s, u32 other, u64 need, u32 place)
{
	int err = reach_sync(p, s, other);

	if (!err && s->v[other].need < need) {
		s->v[other].need = need;
		s->v[other].place = place;
	}
	return err;
}

/* Let a witness keep the release after earlier acquires of @s, which did not see it. */
static int behind_acquires(struct predict *p, u32 thread, const struct predict_sync *s, u32 place)
{
	int err = 0;
	u32 i;

	for (i = 0; i < s->n && !err; i++)
		if (i != thread && s->v[i].seen)
			err = predict_soft(p, thread, p->thread[thread].now, i, s->v[i].seen,
					   place);
	return err;
}

static int do_release(struct predict *p, u32 thread, struct predict_sync *s, u32 place)
{
	struct predict_thread *t = &p->thread[thread];
	u32 i;
	int err = 0;

	if (p->again) {
		err = behind_acquires(p, thread, s, place);
		/* The release is an event of its own, so that earlier acquires stay before it. */
		t->now++;
		return err ? err : release(p, s, thread, t->now, place);
	}
	t->now++;
	for (i = 0; i < t->nclock && !err; i++)
		if (t->clock[i])
			err = release(p, s, i, t->clock[i], 0);
	return err ? err : release(p, s, thread, t->now, 0);
}

static int do_acquire(struct predict *p, u32 thread, struct predict_sync *s, u32 place)
{
	u32 i;
	int err = 0;

	for (i = 0; i < s->n && !err; i++)
		err = after(p, thread, i, s->v[i].need, s->v[i].place, place);
	if (!p->again || err)
		return err;
	err = reach_sync(p, s, thread);
	p->thread[thread].now++;
	if (!err)
		s->v[thread].seen = p->thread[thread].now;
	return err;
}

int predict_release(struct predict *p, u32 thread, struct predict_sync *s, u32 place)
{
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread);
	return predict_result(p, err ? err : do_release(p, thread, s, place));
}

int predict_acquire(struct predict *p, u32 thread, struct predict_sync *s, u32 place)
{
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread);
	return predict_result(p, err ? err : do_acquire(p, thread, s, place));
}

void predict_sync_free(struct predict_sync *s)
{
	free(s->v);
	*s = (struct predict_sync){ 0 };
}

int predict_after(struct predict *p, u32 thread, u32 other, u32 place)
{
	struct predict_sync s = { 0 };
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread > other ? thread : other);
	if (!err)
		err = do_release(p, other, &s, place);
	if (!err)
		err = do_acquire(p, thread, &s, place);
	p->bytes -= s.n * sizeof(*s.v);
	predict_sync_free(&s);
	return predict_result(p, err);
}

int predict_thread(struct predict *p, u32 thread, u32 parent, u32 place)
{
	if (parent != RACE_NO_THREAD)
		return predict_after(p, thread, parent, place);
	return predict_take_event(p) ? predict_result(p, predict_reach(p, thread)) : 0;
}

int predict_needs(struct predict *p, u32 thread, u64 since, u32 other)
{
	struct predict_thread *t;
	struct predict_late_event *r;
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread > other ? thread : other);
	if (err || !p->again || thread == other)
		return predict_result(p, err);
	t = &p->thread[thread];
	r = t->nlate_events ? &t->late_events[t->nlate_events - 1] : NULL;
	if (!r || r->at != since || r->other != other) {
		predict_more(p, t->late_events, t->nlate_events, &t->late_events_room, &err);
		if (err)
			return predict_result(p, err);
		r = &t->late_events[t->nlate_events++];
		*r = (struct predict_late_event){ .at = since, .other = other };
	}
	r->need = p->thread[other].now;
	return 0;
}

u64 predict_now(const struct predict *p, u32 thread)
{
	return thread < p->nthreads ? p->thread[thread].now : 0;
}

int predict_interval(struct predict *p, u32 thread, u64 epoch)
{
	struct predict_thread *t;
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread);
	if (err || !p->again)
		return predict_result(p, err);
	t = &p->thread[thread];
	if (t->nintervals && t->interval[t->nintervals - 1].epoch == epoch)
		return 0;
	t->slot++;
	if (!t->nintervals || t->interval[t->nintervals - 1].at != t->now) {
		predict_more(p, t->interval, t->nintervals, &t->intervals_room, &err);
		if (err)
			return predict_result(p, err);
		t->nintervals++;
	}
	t->interval[t->nintervals - 1].at = t->now;
	t->interval[t->nintervals - 1].epoch = epoch;
	return 0;
}

u64 predict_since(const struct predict *p, u32 thread, u64 epoch)
{
	const struct predict_thread *t = thread < p->nthreads ? &p->thread[thread] : NULL;
	u32 low = 0, high = t ? t->nintervals : 0, mid;

	/* Find the last interval whose epoch is not above @epoch. */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->interval[mid].epoch <= epoch)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? t->interval[low - 1].at : 0;
}

/* ---- locks ---- */

static int do_lock(struct predict *p, u32 thread, u64 address, bool reading, u32 place)
{
	struct predict_thread *t = &p->thread[thread];
	struct predict_lock *l;
	u32 i, lock;
	int err = predict_lock_of(p, address, &lock);

	for (i = 0; !err && i < t->nheld; i++)
		if (t->held[i].lock == lock)
			return 0;
	if (!err)
		predict_more(p, t->held, t->nheld, &t->held_room, &err);
	if (!err && p->again) {
		l = &p->lock[lock];
		predict_more(p, l->section, l->n, &l->room, &err);
		if (!err)
			predict_more(p, t->taken, t->ntaken, &t->taken_room, &err);
		if (err)
			return err;
		t->taken[t->ntaken++] = (struct predict_taken){ t->now, lock, l->n };
		l->section[l->n++] = (struct predict_locked){
			.from = t->now, .to = PREDICT_OPEN, .thread = thread, .place = place,
			.reading = reading,
		};
		p->sections++;
		t->now++;
		t->slot++;
	}
	if (err)
		return err;
	t->held[t->nheld].lock = lock;
	t->held[t->nheld].section = p->lock[lock].n - 1;
	t->held[t->nheld++].reading = reading;
	return predict_set(p, t, &t->set);
}

static int do_unlock(struct predict *p, u32 thread, u64 address, u32 place)
{
	struct predict_thread *t = &p->thread[thread];
	struct predict_locked *s;
	u32 i, lock;
	int err = predict_lock_of(p, address, &lock);

	for (i = 0; !err && i < t->nheld && t->held[i].lock != lock; i++)
		;
	if (err || i == t->nheld)
		return err;
	if (p->again) {
		s = &p->lock[lock].section[t->held[i].section];
		s->to = t->now++;
		s->left = place;
		t->slot++;
	}
	t->held[i] = t->held[--t->nheld];
	return predict_set(p, t, &t->set);
}

int predict_lock(struct predict *p, u32 thread, u64 lock, bool reading, u32 place)
{
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread);
	return predict_result(p, err ? err : do_lock(p, thread, lock, reading, place));
}

int predict_unlock(struct predict *p, u32 thread, u64 lock, u32 place)
{
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_reach(p, thread);
	return predict_result(p, err ? err : do_unlock(p, thread, lock, place));
}

int predict_tried(struct predict *p, u64 lock)
{
	u32 l;
	int err;

	if (!predict_take_event(p))
		return 0;
	err = predict_lock_of(p, lock, &l);
	if (!err)
		p->lock[l].tried = true;
	return predict_result(p, err);
}
