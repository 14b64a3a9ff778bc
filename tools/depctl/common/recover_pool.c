// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recover many segments in parallel when only their counts are needed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"

struct pool {
	const struct pool_job *job;
	pthread_mutex_t lock;	/* held while job->done() is called */
	size_t next;
	size_t finished;
};

/* The same thread's next segment; NULL if there is none or a chunk between them was lost. */
static const struct dep_segment *next_of(const struct pool_job *job, size_t i)
{
	const struct dep_segment *s = &job->segs[i];

	if (i + 1 >= job->n || s[1].thread != s->thread || s[1].seq != s->seq + 1)
		return NULL;
	return s + 1;
}

static void *worker(void *arg)
{
	struct pool *p = arg;
	const struct pool_job *job = p->job;
	struct dep_counts counts;
	size_t i;
	int ret;

	for (;;) {
		i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
		if (i >= job->n)
			return NULL;
		counts = (struct dep_counts){ 0 };
		ret = dep_recover_check_boundary(job->store, &job->segs[i],
						 job->seams ? next_of(job, i) : NULL, &counts);
		pthread_mutex_lock(&p->lock);
		job->done(job->arg, i, ret, &counts, ret ? dep_error() : "");
		progress(++p->finished);
		pthread_mutex_unlock(&p->lock);
	}
}

int pool_run(const struct pool_job *job)
{
	struct pool p = { .job = job, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned int jobs = job->jobs, i, started = 0;
	pthread_t *t;

	if (!jobs)
		jobs = sysconf(_SC_NPROCESSORS_ONLN);
	if (jobs > job->n)
		jobs = job->n;
	jobs = dep_store_jobs(job->store, job->segs, job->n, jobs);
	t = calloc(jobs + 1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	for (i = 1; i < jobs; i++)
		if (!pthread_create(&t[started], NULL, worker, &p))
			started++;
	worker(&p);
	for (i = 0; i < started; i++)
		pthread_join(t[i], NULL);
	free(t);
	return 0;
}
