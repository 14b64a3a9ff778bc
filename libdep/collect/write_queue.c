// SPDX-License-Identifier: LGPL-2.1-or-later
/* The queue as the collector's loop sees it. queue_work.c and queue_put.c have the other side. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "window.h"
#include "writer_pool.h"
#include "internal.h"

#define QUEUE_DESC	(16u << 20)	/* maximum bytes of descriptors in the queue */
#define PREFAULT_MIN	(64u << 10)	/* minimum bytes of a job whose memory is prefaulted */
#define MARK_BYTES	(64ull << 20)	/* bytes of segments between durable points */
#define MARK_NS		1000000000ull	/* time between durable points */

/* Populate all whole pages of a job at once: page faults would take longer than the copy. */
static void prefault(void *p, size_t size)
{
	uintptr_t from = ((uintptr_t)p + 4095) & ~4095ul, to = ((uintptr_t)p + size) & ~4095ul;

	if (size >= PREFAULT_MIN)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room)
{
	struct dep_job *job;

	if (kind == DEP_JOB_DESCRIPTORS) {
		pthread_mutex_lock(&q->pool->lock);
		if (q->desc_bytes && q->desc_bytes + room > QUEUE_DESC) {
			q->wanted = true;
			pthread_mutex_unlock(&q->pool->lock);
			return NULL;
		}
		q->desc_bytes += room;
		pthread_mutex_unlock(&q->pool->lock);
	}
	job = malloc(sizeof(*job) + room);
	if (job) {
		prefault(job, sizeof(*job) + room);
		memset(job, 0, sizeof(*job));
		job->kind = kind;
		job->room = room;
		job->queue = q;
	} else if (kind == DEP_JOB_DESCRIPTORS) {
		pthread_mutex_lock(&q->pool->lock);
		q->desc_bytes -= room;
		pthread_mutex_unlock(&q->pool->lock);
	}
	return job;
}

void dep_queue_give_back(struct dep_queue *q, struct dep_job *job)
{
	if (job->kind == DEP_JOB_DESCRIPTORS)
		q->desc_bytes -= job->room;
	free(job);
}

void dep_queue_cancel(struct dep_queue *q, struct dep_job *job)
{
	pthread_mutex_lock(&q->pool->lock);
	dep_queue_give_back(q, job);
	pthread_mutex_unlock(&q->pool->lock);
}

/*
 * A thread that works for this queue returns to it soon, unless it writes to a slow disk for
 * another queue.
 */
bool dep_queue_wants_another(const struct dep_queue *q)
{
	if (!q->pool->idle || !q->next || q->prepared >= DEP_QUEUE_PREPARED)
		return false;
	return !q->workers || q->next->next;
}

void dep_queue_put(struct dep_queue *q, struct dep_job *job)
{
	struct dep_pool *p = q->pool;
	bool wake;

	job->next = NULL;
	pthread_mutex_lock(&p->lock);
	*q->last = job;
	q->last = &job->next;
	if (!q->next)
		q->next = job;
	p->jobs++;
	wake = dep_queue_wants_another(q);
	pthread_mutex_unlock(&p->lock);
	if (wake)
		pthread_cond_signal(&p->more);
}

void dep_queue_write_to(struct dep_queue *q, struct dep_writer *w)
{
	q->set.w = w;
}

void dep_queue_wake(struct dep_queue *q)
{
	__atomic_fetch_add(&q->set.s->wakeup, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&q->set.s->collector_waits, __ATOMIC_SEQ_CST))
		futex_wake(&q->set.s->wakeup);
}

bool dep_queue_stopped(struct dep_queue *q)
{
	return load(&q->stopped);
}

void dep_queue_stop(struct dep_queue *q)
{
	store(&q->stopped, true);
	store(&q->set.s->stop, 1);
}

bool dep_queue_failed(struct dep_queue *q)
{
	return load(&q->failed);
}

bool dep_queue_store_failed(struct dep_queue *q)
{
	return load(&q->store_failed);
}

u64 dep_queue_stored(struct dep_queue *q)
{
	return load(&q->stored);
}

u64 dep_queue_scanned(struct dep_queue *q)
{
	return load(&q->scanned);
}

bool dep_queue_drained(struct dep_queue *q)
{
	bool drained;

	pthread_mutex_lock(&q->pool->lock);
	drained = !q->first && !q->putting;
	pthread_mutex_unlock(&q->pool->lock);
	return drained;
}

bool dep_queue_closed(struct dep_queue *q, int *ret)
{
	if (!load(&q->closed))
		return false;
	*ret = q->closed_ret;
	return true;
}

const char *dep_queue_error(struct dep_queue *q)
{
	return dep_queue_failed(q) ? q->error : "";
}

struct dep_queue *dep_queue_create(struct dep_pool *pool, const struct dep_queue_setup *setup)
{
	struct dep_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->set = *setup;
	q->pool = pool;
	q->last = &q->first;
	pthread_mutex_lock(&pool->lock);
	q->after = pool->turn ? pool->turn->after : q;
	if (pool->turn)
		pool->turn->after = q;
	pool->turn = q;
	pthread_mutex_unlock(&pool->lock);
	return q;
}

void dep_queue_drain(struct dep_queue *q)
{
	pthread_mutex_lock(&q->pool->lock);
	while (q->first || q->putting)
		pthread_cond_wait(&q->pool->drained, &q->pool->lock);
	pthread_mutex_unlock(&q->pool->lock);
}

int dep_queue_end_window(struct dep_queue *q, const struct dep_kept *why)
{
	struct dep_window *w = q->set.window;

	dep_queue_drain(q);
	/* No writer thread looks at it: the queue is empty. */
	q->set.window = NULL;
	/* After an error of the disk the rest cannot be stored either. */
	q->stores_window = !dep_queue_store_failed(q);
	dep_window_expire(w, dep_queue_now());
	dep_window_reason(w, why);
	return dep_window_empty(w, q);
}

void dep_queue_ending(struct dep_queue *q, struct dep_ending *e)
{
	if (!dep_queue_failed(q))
		return;
	e->cause = DEP_CLOSE_FAILED;
	e->error = q->error_number;
}

void dep_queue_mark(struct dep_queue *q)
{
	u64 now, unmarked = load(&q->unmarked);
	struct dep_job *job;

	if (!unmarked || load(&q->marking) || dep_queue_stopped(q))
		return;
	now = now_ns();
	if (unmarked < MARK_BYTES && now - q->marked_ns < MARK_NS)
		return;
	job = dep_queue_job(q, DEP_JOB_MARK, 0);
	if (!job)
		return;
	q->marked_ns = now;
	store(&q->marking, true);
	dep_queue_put(q, job);
}

void dep_queue_loss(struct dep_queue *q, struct dep_loss *loss)
{
	loss->discarded_bytes += q->discarded;
}

void dep_queue_free(struct dep_queue *q)
{
	struct dep_pool *p = q->pool;
	struct dep_queue *before = q;

	pthread_mutex_lock(&p->lock);
	while (before->after != q)
		before = before->after;
	before->after = q->after;
	if (p->turn == q)
		p->turn = before == q ? NULL : before;
	pthread_mutex_unlock(&p->lock);
	free(q);
}
