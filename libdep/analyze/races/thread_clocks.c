// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads and synchronisation in the race detector: begin, end, join, acquire and release. */
#include <errno.h>

#include "internal.h"

static void new_context(struct race_detector *d, struct race_thread *t)
{
	if (!++d->contexts) {
		/* Context numbers wrapped: clear the lookup cache and renumber all threads. */
		memset(d->memo, 0, sizeof(d->memo));
		while (d->contexts < d->nthreads) {
			d->thread[d->contexts].context = d->contexts + 1;
			d->contexts++;
		}
		d->contexts++;
	}
	t->context = d->contexts;
}

int race_begin_interval(struct race_detector *d, struct race_thread *t, bool release)
{
	u32 version = race_when_version(t->clock.epoch);

	if (version == 0xffffffff)
		return -EOVERFLOW;
	t->clock.epoch = (version + 1ull) << 16;
	if (release)
		t->since = t->clock.epoch;
	new_context(d, t);
	return 0;
}

/* Return the clock that a release publishes: up to the end of the current interval. */
static struct race_clock published(const struct race_thread *t)
{
	struct race_clock c = t->clock;

	c.epoch |= RACE_SUB_EPOCH;
	return c;
}

static bool lives(const struct race_detector *d, u32 thread)
{
	return thread < d->nthreads && d->thread[thread].life == RACE_LIVES;
}

static void set_around(struct race_detector *d, int more)
{
	d->around += more;
	d->skip = d->error || d->around < 2;
}

static int grow(struct race_detector *d)
{
	u32 room = d->room ? d->room * 2 : 16;
	struct race_thread *t;

	t = race_grow(&d->mem, RACE_MEM_OTHER, d->thread, d->room * sizeof(*t),
		      room * sizeof(*t));
	if (!t)
		return -ENOMEM;
	d->thread = t;
	d->room = room;
	return 0;
}

/* Join @from into the clock of @t, and begin an interval if the clock changed. */
static int learn(struct race_detector *d, struct race_thread *t, const struct race_clock *from)
{
	u32 version = race_when_version(t->clock.epoch);
	struct race_history *h = &t->history;
	bool rewound;
	size_t before;
	int ret;

	if (!from->epoch || (from->whole && race_clock_get(&t->clock, from->owner) >= from->epoch))
		return 0;
	rewound = race_history_rewind(&d->mem, h);
	before = h->n;
	ret = race_clock_join(&d->mem, &t->clock, from, rewound ? NULL : h, version + 1);
	if (ret < 0 || (!ret && !rewound))
		return ret;
	version += ret;
	if (ret)
		ret = race_begin_interval(d, t, false);
	if (!ret)
		ret = race_history_flush(&d->mem, h, version, t->clock.vec, before, rewound);
	return !ret && race_collect_due(d) ? race_gc(d, false) : ret;
}

static int begin(struct race_detector *d, struct race_thread *t, u32 parent)
{
	struct race_clock from;
	int ret = 0;

	t->clock.epoch = 1ull << 16;
	t->clock.owner = t - d->thread;
	t->clock.whole = true;
	t->since = t->clock.epoch;
	if (parent != RACE_NO_THREAD) {
		from = published(&d->thread[parent]);
		t->clock.vec = race_vec_ref(from.vec);
		ret = race_clock_raise(&d->mem, &t->clock, parent, from.epoch, NULL, 0);
		if (ret >= 0 && d->thread[parent].life == RACE_LIVES)
			ret = race_begin_interval(d, &d->thread[parent], true);
	}
	if (ret >= 0)
		ret = race_history_begin(&d->mem, &t->history, t->clock.vec);
	new_context(d, t);
	return ret < 0 ? ret : 0;
}

int race_thread_begin(struct race_detector *d, u32 parent, u32 *thread)
{
	int ret;

	if (parent != RACE_NO_THREAD && parent >= d->nthreads)
		return -EINVAL;
	if (d->error)
		return d->error;
	if (d->nthreads == RACE_THREADS)
		return -ENOSPC;
	if (d->nthreads == d->room && grow(d))
		return race_fail(d, -ENOMEM);
	memset(&d->thread[d->nthreads], 0, sizeof(*d->thread));
	*thread = d->nthreads++;
	set_around(d, 1);
	ret = begin(d, &d->thread[*thread], parent);
	return race_fail(d, ret);
}

void race_thread_end(struct race_detector *d, u32 thread)
{
	struct race_thread *t;

	if (!lives(d, thread))
		return;
	t = &d->thread[thread];
	t->life = RACE_ENDED;
	race_free(&d->mem, RACE_MEM_OTHER, t->stamp, t->stamps * sizeof(*t->stamp));
	t->stamp = NULL;
	t->stamps = 0;
}

int race_thread_join(struct race_detector *d, u32 joiner, u32 joined)
{
	struct race_thread *t;
	struct race_clock c;
	int ret;

	if (!lives(d, joiner) || joined >= d->nthreads || joiner == joined)
		return -EINVAL;
	if (d->error)
		return d->error;
	t = &d->thread[joined];
	c = published(t);
	if (t->life == RACE_JOINED)
		c.whole = false;
	ret = learn(d, &d->thread[joiner], &c);
	if (!ret && t->life == RACE_LIVES)
		ret = race_begin_interval(d, t, true);
	if (!ret && t->life == RACE_ENDED) {
		t->life = RACE_JOINED;
		race_vec_put(&d->mem, t->clock.vec);
		t->clock.vec = NULL;
		set_around(d, -1);
	}
	return race_fail(d, ret);
}

int race_acquire(struct race_detector *d, u32 thread, const struct race_sync *s)
{
	if (!lives(d, thread))
		return -EINVAL;
	if (d->error)
		return d->error;
	return race_fail(d, learn(d, &d->thread[thread], &s->clock));
}

int race_release_store(struct race_detector *d, u32 thread, struct race_sync *s)
{
	struct race_clock c;

	if (!lives(d, thread))
		return -EINVAL;
	if (d->error)
		return d->error;
	c = published(&d->thread[thread]);
	race_clock_copy(&d->mem, &s->clock, &c);
	return race_fail(d, race_begin_interval(d, &d->thread[thread], true));
}

int race_release(struct race_detector *d, u32 thread, struct race_sync *s)
{
	struct race_clock *c = &s->clock, mine;
	int ret;

	if (!lives(d, thread))
		return -EINVAL;
	if (d->error)
		return d->error;
	mine = published(&d->thread[thread]);
	/* If the thread's clock includes the object's clock, it replaces the object's clock. */
	if (!c->epoch || (c->whole && race_clock_get(&mine, c->owner) >= c->epoch))
		return race_release_store(d, thread, s);
	ret = race_clock_join(&d->mem, c, &mine, NULL, 0);
	if (ret >= 0) {
		c->whole = false;
		ret = race_begin_interval(d, &d->thread[thread], true);
	}
	return race_fail(d, ret);
}

void race_sync_free(struct race_detector *d, struct race_sync *s)
{
	race_clock_free(&d->mem, &s->clock);
}

u64 race_epoch(const struct race_detector *d, u32 thread)
{
	return thread < d->nthreads ? d->thread[thread].clock.epoch : 0;
}
