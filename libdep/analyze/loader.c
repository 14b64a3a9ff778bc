// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that load segments before they are needed.  The lock protects all but what
 * dep_loader_start() sets; a request belongs to who asked until it is taken.
 */
#include <pthread.h>
#include <stdlib.h>

#include "load.h"

#define MAX_JOBS	64u

struct request {
	struct request *next;
	const struct dep_segment *seg;
	struct dep_sieve *sieve;
	struct dep_loaded *loaded;
	enum { WAITING, AT_WORK, DONE } state;
};

struct dep_loader {
	struct dep_store *store;
	unsigned int want, njobs;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct request *first, **last;	/* those that wait */
	bool stop;
	pthread_t job[MAX_JOBS];
};

static struct request *next_request(struct dep_loader *l)
{
	struct request *r;

	while (!l->first && !l->stop)
		pthread_cond_wait(&l->work, &l->lock);
	r = l->stop ? NULL : l->first;
	if (r) {
		l->first = r->next;
		if (!l->first)
			l->last = &l->first;
		r->state = AT_WORK;
	}
	return r;
}

static void *job(void *arg)
{
	struct dep_loader *l = arg;
	struct request *r;

	pthread_mutex_lock(&l->lock);
	while ((r = next_request(l))) {
		pthread_mutex_unlock(&l->lock);
		r->loaded = dep_load(l->store, r->seg, l->want, r->sieve);
		pthread_mutex_lock(&l->lock);
		r->state = DONE;
		pthread_cond_broadcast(&l->done);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

struct dep_loader *dep_loader_start(struct dep_store *s, unsigned int want, unsigned int jobs)
{
	struct dep_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->store = s;
	l->want = want;
	l->last = &l->first;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	pthread_cond_init(&l->done, NULL);
	/* With fewer than asked for it goes on all the same. */
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
	free(l);
}

void *dep_loader_ask(struct dep_loader *l, const struct dep_segment *seg, struct dep_sieve *sieve)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->seg = seg;
	r->sieve = sieve;
	if (!l->njobs)
		return r;
	pthread_mutex_lock(&l->lock);
	*l->last = r;
	l->last = &r->next;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
	return r;
}

/* Out of the queue, if nobody has begun with it. */
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

struct dep_loaded *dep_loader_take(struct dep_loader *l, void *asked)
{
	struct request *r = asked;
	struct dep_loaded *loaded;

	pthread_mutex_lock(&l->lock);
	if (r->state == WAITING && (!l->njobs || take_back(l, r))) {
		pthread_mutex_unlock(&l->lock);
		loaded = dep_load(l->store, r->seg, l->want, r->sieve);
	} else {
		while (r->state != DONE)
			pthread_cond_wait(&l->done, &l->lock);
		pthread_mutex_unlock(&l->lock);
		loaded = r->loaded;
	}
	free(r);
	return loaded;
}
