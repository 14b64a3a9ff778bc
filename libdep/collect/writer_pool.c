// SPDX-License-Identifier: LGPL-2.1-or-later
/* Writer threads: each serves the pool's queues in turn, one step at a time. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "libdep/format/write/pack.h"
#include "writer_pool.h"
#include "internal.h"

static bool work(struct dep_pool *p, struct dep_worker *me)
{
	struct dep_queue *q = p->turn, *end = q;

	if (!q)
		return false;
	do {
		p->turn = q->after;
		if (dep_queue_work(q, me))
			return true;
		q = p->turn;
	} while (q && q != end);
	return false;
}

static void *storing_thread(void *arg)
{
	struct dep_worker *me = arg;
	struct dep_pool *p = me->pool;

	pthread_mutex_lock(&p->lock);
	while (!p->ended) {
		if (work(p, me))
			continue;
		p->idle++;
		pthread_cond_wait(&p->more, &p->lock);
		p->idle--;
	}
	pthread_mutex_unlock(&p->lock);
	dep_compressor_free(me->press);
	free(me->copy.data);
	return NULL;
}

static u32 count_workers(u32 wish)
{
	long n = wish ? wish : sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		return 1;
	return n < DEP_POOL_WORKERS ? n : DEP_POOL_WORKERS;
}

struct dep_pool *dep_pool_create(u32 workers)
{
	struct dep_pool *p = calloc(1, sizeof(*p));
	u32 want = count_workers(workers);
	sigset_t all, old;
	int err = 0;

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->drained, NULL);

	/* Block all signals in writer threads: signals must interrupt the sleep of the loop. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; p->nworkers < want && !err; p->nworkers += !err) {
		struct dep_worker *w = &p->worker[p->nworkers];

		w->pool = p;
		w->press = dep_compressor_new();
		err = w->press ? pthread_create(&w->thread, NULL, storing_thread, w) : ENOMEM;
		if (err)
			dep_compressor_free(w->press);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (p->nworkers)
		return p;
	dep_pool_free(p);
	errno = err;
	return NULL;
}

void dep_pool_free(struct dep_pool *p)
{
	u32 i;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ended = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->nworkers; i++)
		pthread_join(p->worker[i].thread, NULL);
	pthread_cond_destroy(&p->drained);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void dep_pool_stats(struct dep_pool *p, struct dep_pool_stats *out)
{
	u32 i;

	pthread_mutex_lock(&p->lock);
	*out = (struct dep_pool_stats){
		.workers = p->nworkers,
		.busy = p->nworkers - p->idle,
		.jobs = p->jobs,
	};
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < DEP_STAGES; i++) {
		out->stage_ns[i] = load(&p->stage_ns[i]);
		out->stage_chunks[i] = load(&p->stage_chunks[i]);
	}
}
