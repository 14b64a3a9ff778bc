// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that load segments before the merge needs them. @lock protects all fields except those
 * that dep_loader_start() sets once. dep_loader_take() frees the request that it waited for.
 *
 * The segments of one filter must be loaded in order, one at a time. Filtered segments have few
 * items and are used up quickly, so for each filter the segments after the requested one are loaded
 * ahead as well, within the limits below. This keeps all loader threads busy while the merge is at
 * segments of one thread.
 */
#include <pthread.h>
#include <stdlib.h>

#include "libdep/recover/filter/filter.h"
#include "segments.h"

#define MAX_JOBS	64u
#define MAX_AHEAD	64u		/* maximum number of requests in the queue of one filter */
#define MAX_ITEMS	(1u << 19)	/* maximum number of items in all loaded requests */

struct request {
	struct request *next;		/* next in the list of waiting requests */
	struct request *after;		/* next in the queue of the same filter */
	const struct dep_segment *seg;
	/* in a growing store @seg points here, since its segment table may move */
	struct dep_segment copy;
	struct dep_filter *filter;
	bool more;
	struct dep_segment_items *loaded;
	enum { WAITING, AT_WORK, DONE } state;
};

/** struct dep_ahead - the queue of a filter: its requests that the merge has not taken, in order */
struct dep_ahead {
	struct dep_ahead *next;
	struct dep_filter *filter;
	struct request *first, *last;
	unsigned int n;
	bool busy;
};

struct dep_loader {
	struct dep_store *store;
	unsigned int want, njobs;
	unsigned int idle;		/* number of loader threads that wait for work */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	pthread_rwlock_t grows;		/* write-locked while the store's tables change */
	struct request *first, **last;	/* list of waiting requests */
	struct dep_ahead *ahead;
	size_t items;			/* number of items in the loaded requests of all queues */
	/* true: the store's segment table may move, so load only requested segments */
	bool growing;
	bool stop;
	pthread_t job[MAX_JOBS];
	/* buffers of the merge thread; each loader thread has its own */
	struct dep_load_buffers *space;
};

/* ---- choosing the next request to load, with the lock held ---- */

/* Memory use of @l, in items. Two words of merged accesses are as large as one item. */
static size_t weight(const struct dep_segment_items *l)
{
	return l->nitems + l->nwords / 2;
}

static void add_behind(struct dep_ahead *a, struct request *r)
{
	if (a->first)
		a->last->after = r;
	else
		a->first = r;
	a->last = r;
	a->n++;
}

static struct request *take_waiting(struct dep_loader *l)
{
	struct request **pp = &l->first, *r = l->first;

	if (!r)
		return NULL;
	*pp = r->next;
	if (l->last == &r->next)
		l->last = pp;
	return r;
}

/* The segment of the same thread after @seg, or NULL. */
static const struct dep_segment *after(struct dep_loader *l, const struct dep_segment *seg)
{
	const struct dep_segment *all;
	size_t n;

	/* The merge thread may be changing the segment table. */
	if (l->growing)
		return NULL;
	n = dep_store_segments(l->store, &all);
	/* @seg may be a copy, made while the store was growing, outside the table. */
	if (seg < all || seg + 1 >= all + n)
		return NULL;
	return seg[1].thread == seg->thread ? seg + 1 : NULL;
}

static bool has_more(struct dep_loader *l, const struct dep_segment *seg)
{
	const struct dep_segment *next = after(l, seg);

	return next && next->seq == seg->seq + 1;
}

/*
 * Find the queue to load ahead for: the shortest one with fewer than @n requests whose thread has a
 * further segment. NULL: none, or more than @items items are loaded already.
 */
static struct dep_ahead *find_ahead(struct dep_loader *l, size_t items, unsigned int n)
{
	struct dep_ahead *a, *least = NULL;

	if (l->items > items)
		return NULL;
	for (a = l->ahead; a; a = a->next)
		if (!a->busy && a->first && a->n < n && (!least || a->n < least->n) &&
		    after(l, a->last->seg))
			least = a;
	return least;
}

/*
 * Should an idle thread be woken? Loading ahead counts only below half of the limits; else the
 * thread would soon be idle again.
 */
static bool wants_job(struct dep_loader *l)
{
	return l->idle && (l->first || find_ahead(l, MAX_ITEMS / 2, MAX_AHEAD / 2));
}

/* Unlock, and wake an idle thread if there is work; after the unlock, since it needs the lock. */
static void unlock_for_job(struct dep_loader *l)
{
	bool wake = wants_job(l);

	pthread_mutex_unlock(&l->lock);
	if (wake)
		pthread_cond_signal(&l->work);
}

/* Make a request to load a segment ahead that the merge has not requested; NULL: none to load. */
static struct request *make_ahead(struct dep_loader *l)
{
	struct dep_ahead *least = find_ahead(l, MAX_ITEMS, MAX_AHEAD);
	struct request *r;

	r = least ? calloc(1, sizeof(*r)) : NULL;
	if (!r)
		return NULL;
	r->seg = after(l, least->last->seg);
	r->filter = least->filter;
	r->more = has_more(l, r->seg);
	add_behind(least, r);
	return r;
}

static void set_busy(struct request *r, bool busy)
{
	if (r->filter)
		r->filter->ahead->busy = busy;
}

/* Load the segment of @r; the lock is released meanwhile. */
static void load(struct dep_loader *l, struct request *r, struct dep_load_buffers *space)
{
	r->state = AT_WORK;
	set_busy(r, true);
	pthread_mutex_unlock(&l->lock);
	pthread_rwlock_rdlock(&l->grows);
	r->loaded = dep_load(l->store, r->seg, l->want, r->filter, r->more, space);
	pthread_rwlock_unlock(&l->grows);
	pthread_mutex_lock(&l->lock);
	r->state = DONE;
	set_busy(r, false);
	if (r->filter && r->loaded)
		l->items += weight(r->loaded);
	pthread_cond_broadcast(&l->done);
}

/* Load a waiting request or a segment ahead. Return: false if there was nothing to load. */
static bool load_any(struct dep_loader *l, struct dep_load_buffers *space)
{
	struct request *r = take_waiting(l);

	if (!r)
		r = make_ahead(l);
	if (r)
		load(l, r, space);
	return r;
}

static void *job(void *arg)
{
	/* If this is NULL (no memory), each load allocates its own buffers. */
	struct dep_load_buffers *space = dep_load_buffers_new();
	struct dep_loader *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		if (load_any(l, space))
			continue;
		l->idle++;
		pthread_cond_wait(&l->work, &l->lock);
		l->idle--;
	}
	pthread_mutex_unlock(&l->lock);
	dep_load_buffers_free(space);
	return NULL;
}

/* ---- functions for the merge thread ---- */

struct dep_loader *dep_loader_start(struct dep_store *s, unsigned int want, unsigned int jobs)
{
	struct dep_loader *l = calloc(1, sizeof(*l));
	pthread_rwlockattr_t first;

	if (!l)
		return NULL;
	l->store = s;
	l->want = want;
	l->last = &l->first;
	l->space = dep_load_buffers_new();
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	pthread_cond_init(&l->done, NULL);
	/* Loader threads hold the lock for reading nearly all the time: prefer the writer. */
	pthread_rwlockattr_init(&first);
	pthread_rwlockattr_setkind_np(&first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&l->grows, &first);
	pthread_rwlockattr_destroy(&first);
	/* Fewer threads are enough if pthread_create() fails. */
	while (l->njobs < jobs && l->njobs < MAX_JOBS &&
	       !pthread_create(&l->job[l->njobs], NULL, job, l))
		l->njobs++;
	return l;
}

void dep_loader_stop(struct dep_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	while (l->njobs)
		pthread_join(l->job[--l->njobs], NULL);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->work);
	pthread_cond_destroy(&l->done);
	pthread_rwlock_destroy(&l->grows);
	dep_load_buffers_free(l->space);
	free(l);
}

/* Get the queue of @filter, made at the first call; NULL: no memory. */
static struct dep_ahead *ahead_of(struct dep_loader *l, struct dep_filter *filter)
{
	struct dep_ahead *a = filter->ahead;

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->filter = filter;
	a->next = l->ahead;
	l->ahead = a;
	return filter->ahead = a;
}

static struct request *ask(struct dep_loader *l, const struct dep_segment *seg,
			   struct dep_filter *filter, bool more)
{
	struct dep_ahead *a = filter ? ahead_of(l, filter) : NULL;
	struct request *r;

	if (filter && !a)
		return NULL;
	/* Segments of a filter are requested in order: the queue's first request is for @seg. */
	if (a && a->first)
		return a->first;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->copy = *seg;
	r->seg = l->growing ? &r->copy : seg;
	r->filter = filter;
	r->more = more;
	if (a)
		add_behind(a, r);
	*l->last = r;
	l->last = &r->next;
	return r;
}

void *dep_loader_ask(struct dep_loader *l, const struct dep_segment *seg, struct dep_filter *filter,
		     bool more)
{
	struct request *r;

	pthread_mutex_lock(&l->lock);
	r = ask(l, seg, filter, more);
	unlock_for_job(l);
	return r;
}

/* Remove @r from the waiting requests; false if a thread has started it already. */
static bool take_back(struct dep_loader *l, struct request *r)
{
	struct request **pp = &l->first;

	while (*pp && *pp != r)
		pp = &(*pp)->next;
	if (!*pp)
		return false;
	*pp = r->next;
	if (l->last == &r->next)
		l->last = pp;
	return true;
}

/* Remove @r from its filter's queue, where it is the first request. */
static void leave_queue(struct dep_loader *l, struct request *r)
{
	struct dep_ahead *a = r->filter ? r->filter->ahead : NULL;

	if (!a)
		return;
	a->first = r->after;
	a->n--;
	if (r->loaded)
		l->items -= weight(r->loaded);
}

struct dep_segment_items *dep_loader_take(struct dep_loader *l, void *asked)
{
	struct request *r = asked;
	struct dep_segment_items *loaded;

	pthread_mutex_lock(&l->lock);
	if (r->state == WAITING && take_back(l, r))
		load(l, r, l->space);
	/* While a loader thread loads @r, load other segments. */
	while (r->state != DONE)
		if (!l->njobs || !load_any(l, l->space))
			pthread_cond_wait(&l->done, &l->lock);
	leave_queue(l, r);
	loaded = r->loaded;
	unlock_for_job(l);
	free(r);
	return loaded;
}

void dep_loader_forget(struct dep_loader *l, struct dep_filter *filter)
{
	struct dep_ahead *a = filter->ahead, **pp = &l->ahead;
	struct request *r;

	if (!a)
		return;
	pthread_mutex_lock(&l->lock);
	while (a->busy)
		pthread_cond_wait(&l->done, &l->lock);
	while ((r = a->first)) {
		take_back(l, r);
		leave_queue(l, r);
		dep_loaded_free(r->loaded);
		free(r);
	}
	while (*pp != a)
		pp = &(*pp)->next;
	*pp = a->next;
	unlock_for_job(l);
	filter->ahead = NULL;
	free(a);
}

void dep_loader_growing(struct dep_loader *l, bool growing)
{
	pthread_mutex_lock(&l->lock);
	l->growing = growing;
	unlock_for_job(l);
}

void dep_loader_hold(struct dep_loader *l)
{
	pthread_rwlock_wrlock(&l->grows);
}

void dep_loader_go_on(struct dep_loader *l)
{
	pthread_rwlock_unlock(&l->grows);
}
