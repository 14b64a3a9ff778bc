// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sync-preserving closure: the smallest set of events that contains given events and all events
 * that these need.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int sp_closure_init(struct sp_closure *i, struct predict *p)
{
	size_t n = p->nthreads + 1;

	*i = (struct sp_closure){ .p = p };
	i->cut = calloc(n, sizeof(*i->cut));
	i->why = calloc(n, sizeof(*i->why));
	i->taken = calloc(n, sizeof(*i->taken));
	i->todo = calloc(n, sizeof(*i->todo));
	i->waits = calloc(n, sizeof(*i->waits));
	i->open = calloc(p->nlocks + 1, sizeof(*i->open));
	if (!i->cut || !i->why || !i->taken || !i->todo || !i->waits || !i->open)
		return -ENOMEM;
	sp_closure_clear(i);
	return 0;
}

void sp_closure_free(struct sp_closure *i)
{
	u32 n;

	for (n = 0; i->open && n < i->p->nlocks; n++)
		free(i->open[n].v);
	free(i->cut);
	free(i->why);
	free(i->taken);
	free(i->todo);
	free(i->waits);
	free(i->open);
}

void sp_closure_clear(struct sp_closure *i)
{
	u32 n = i->p->nthreads;

	memset(i->cut, 0, n * sizeof(*i->cut));
	memset(i->why, 0, n * sizeof(*i->why));
	memset(i->taken, 0, n * sizeof(*i->taken));
	memset(i->waits, 0, n * sizeof(*i->waits));
	i->ntodo = 0;
	i->reversal = false;
	i->impossible = false;
	i->turn++;
	i->work += n;
}

static void need(struct sp_closure *i, u32 thread, u64 n, u32 why)
{
	if (i->cut[thread] >= n)
		return;
	i->cut[thread] = n;
	i->why[thread] = why;
	if (!i->waits[thread]) {
		i->waits[thread] = true;
		i->todo[i->ntodo++] = thread;
	}
}

static void need_end(struct sp_closure *i, const struct predict_locked *s)
{
	if (s->to == PREDICT_OPEN)
		i->impossible = true;
	else
		need(i, s->thread, s->to + 1, s->left);
}

bool sp_closure_keep(struct sp_closure *i, u32 lock, u32 section)
{
	struct predict_open *o = &i->open[lock];

	if (o->keeps != i->turn) {
		o->keeps = i->turn;
		o->nkeep = 0;
	}
	if (o->nkeep == 2 || i->p->lock[lock].tried)
		return false;
	o->keep[o->nkeep++] = section;
	return true;
}

bool sp_closure_keeps(const struct sp_closure *i, u32 lock, u32 section)
{
	const struct predict_open *o = &i->open[lock];
	u32 k;

	for (k = 0; o->keeps == i->turn && k < o->nkeep; k++)
		if (o->keep[k] == section)
			return true;
	return false;
}

/*
 * A kept section contains an access of the checked pair and is left open. Section @s of @lock must
 * end before a conflicting kept section of the lock begins.
 */
static void end_for_kept(struct sp_closure *i, u32 lock, const struct predict_locked *s)
{
	const struct predict_open *o = &i->open[lock];
	u32 k;

	for (k = 0; o->keeps == i->turn && k < o->nkeep; k++)
		if (!(i->p->lock[lock].section[o->keep[k]].reading && s->reading))
			need_end(i, s);
}

/*
 * Add section @x of @lock to the closure. Of two conflicting sections in the closure the earlier
 * one must end, so its end is added.
 */
static int add_section(struct sp_closure *i, u32 lock, u32 x)
{
	const struct predict_locked *all = i->p->lock[lock].section, *s = &all[x];
	struct predict_open *o = &i->open[lock];
	u32 k, n = 0, room;
	void *more;

	if (o->turn != i->turn) {
		o->turn = i->turn;
		o->n = o->last = o->last_write = 0;
	}
	if (sp_closure_keeps(i, lock, x)) {
		if (o->last < x + 1)
			o->last = x + 1;
		return 0;
	}
	end_for_kept(i, lock, s);
	for (k = 0; k < o->n; k++) {
		const struct predict_locked *y = &all[o->v[k]];

		if (o->v[k] < x && y->thread != s->thread && !(y->reading && s->reading))
			need_end(i, y);
		else if (y->thread != s->thread)
			o->v[n++] = o->v[k];
	}
	i->work += o->n + 1;
	o->n = n;
	if ((s->reading ? o->last_write : o->last) > x + 1) {
		need_end(i, s);
	} else {
		if (o->n == o->room) {
			room = o->room ? 2 * o->room : 4;
			more = realloc(o->v, room * sizeof(*o->v));
			if (!more)
				return -ENOMEM;
			o->v = more;
			o->room = room;
		}
		o->v[o->n++] = x;
	}
	if (o->last < x + 1)
		o->last = x + 1;
	if (!s->reading && o->last_write < x + 1)
		o->last_write = x + 1;
	return 0;
}

/* Find the last edge in @e of an event before @cut; NULL: none. It needs the most events. */
static const struct predict_edge *last_edge(const struct predict_edges *e, u64 cut)
{
	u32 low = 0, high = e->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (e->v[mid].at < cut)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &e->v[low - 1] : NULL;
}

static int add_thread(struct sp_closure *i, u32 thread)
{
	const struct predict_thread *t = &i->p->thread[thread];
	u64 cut = i->cut[thread];
	const struct predict_edge *e;
	int err = 0;
	u32 k;

	for (k = 0; k < t->hard.n; k++) {
		e = last_edge(&t->hard.by[k], cut);
		if (e)
			need(i, k, e->need, e->place);
	}
	for (k = 0; k < t->nlate_events; k++) {
		if (t->late_events[k].at >= cut)
			continue;
		need(i, t->late_events[k].other, t->late_events[k].need, 0);
		/*
		 * Late events were passed in after events that must follow them: the recorded order
		 * is too uncertain to reverse critical sections.
		 */
		i->impossible |= i->reversal;
	}
	i->work += 4 * t->hard.n + t->nlate_events;
	while (i->taken[thread] < t->ntaken && t->taken[i->taken[thread]].at < cut && !err) {
		const struct predict_taken *s = &t->taken[i->taken[thread]++];

		err = add_section(i, s->lock, s->section);
	}
	return err;
}

int sp_closure_add(struct sp_closure *i, u32 thread, u64 n)
{
	int err = 0;
	u32 t;

	need(i, thread, n, 0);
	while (i->ntodo && !err && !i->impossible) {
		t = i->todo[--i->ntodo];
		i->waits[t] = false;
		err = add_thread(i, t);
	}
	return err;
}
