// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The storing threads and their queue.
 *
 * All of them do the same: put what is ready at the queue's front into the store, one
 * of them at a time; else prepare the next job that nobody has prepared.  Preparing
 * is packing a chunk, which any number may do at once, or admitting descriptors, one
 * at a time and before chunks behind them are begun.  What the store gets, and in
 * which order, is decided where jobs are put: it does not depend on how many threads
 * there are.
 *
 * The lock guards the list, the states of its jobs, the counters of what is queued
 * and the free list; the flags are atomic because the loop asks for them once per
 * chunk.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../format/pack.h"
#include "private.h"

#define QUEUE_BYTES	(64u << 20)	/* of chunks waiting to be stored.. */
#define QUEUE_CHUNKS	8u		/* ..but no more than so many */
#define QUEUE_DESC	(16u << 20)	/* of descriptors */
#define MAX_WORKERS	4u

enum { JOB_WAITS, JOB_BUSY, JOB_READY };

struct dep_queue {
	struct dep_writer *w;
	struct adept_session *s;
	u32 chunk_size;
	u64 max_size;
	pthread_t thread[MAX_WORKERS];
	u32 nthreads;

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct dep_job *first, **last;
	struct dep_job *next;	/* the first that nobody prepares */
	bool admitting, putting;
	u32 idle;		/* threads that wait for more */
	struct dep_job *spare;	/* chunk-sized */
	u32 chunks, max_chunks;	/* chunk-sized jobs that exist outside the free list */
	u64 desc_bytes;
	bool ended;
	bool wanted;		/* the loop was refused room */

	bool stopped, failed;
	u64 stored;
	u64 scanned;		/* bytes found in chunks that were never published */
	char error[512];

	/* Only who is putting writes these. */
	u64 discarded;
	u64 bad;
};

static bool is_chunk(enum dep_job_kind kind)
{
	return kind == DEP_JOB_SEGMENT || kind == DEP_JOB_SCAN;
}

struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room)
{
	struct dep_job *job = NULL;

	if (is_chunk(kind))
		room = q->chunk_size;

	pthread_mutex_lock(&q->lock);
	if (is_chunk(kind)) {
		if (q->chunks >= q->max_chunks)
			goto full;
		q->chunks++;
		job = q->spare;
		if (job)
			q->spare = job->next;
	} else if (kind == DEP_JOB_DESCRIPTORS) {
		if (q->desc_bytes && q->desc_bytes + room > QUEUE_DESC)
			goto full;
		q->desc_bytes += room;
	}
	pthread_mutex_unlock(&q->lock);

	if (!job) {
		job = malloc(sizeof(*job) + room);
		if (!job) {
			pthread_mutex_lock(&q->lock);
			if (is_chunk(kind))
				q->chunks--;
			else if (kind == DEP_JOB_DESCRIPTORS)
				q->desc_bytes -= room;
			goto full;
		}
	}
	memset(job, 0, sizeof(*job));
	job->kind = kind;
	job->room = room;
	return job;

full:
	q->wanted = true;
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* With the lock held. */
static void give_back(struct dep_queue *q, struct dep_job *job)
{
	if (is_chunk(job->kind)) {
		q->chunks--;
		job->next = q->spare;
		q->spare = job;
		return;
	}
	if (job->kind == DEP_JOB_DESCRIPTORS)
		q->desc_bytes -= job->room;
	free(job);
}

void dep_queue_cancel(struct dep_queue *q, struct dep_job *job)
{
	pthread_mutex_lock(&q->lock);
	give_back(q, job);
	pthread_mutex_unlock(&q->lock);
}

void dep_queue_put(struct dep_queue *q, struct dep_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->last = job;
	q->last = &job->next;
	if (!q->next)
		q->next = job;
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
}

bool dep_queue_stopped(struct dep_queue *q)
{
	return load(&q->stopped);
}

void dep_queue_stop(struct dep_queue *q)
{
	store(&q->stopped, true);
	store(&q->s->stop, 1);
}

bool dep_queue_failed(struct dep_queue *q)
{
	return load(&q->failed);
}

u64 dep_queue_stored(struct dep_queue *q)
{
	return load(&q->stored);
}

u64 dep_queue_scanned(struct dep_queue *q)
{
	return load(&q->scanned);
}

const char *dep_queue_error(struct dep_queue *q)
{
	return dep_queue_failed(q) ? q->error : "";
}

/* What recorded programs got wrong costs them their data; anything else is the store. */
static bool is_bad_input(int ret)
{
	return ret == -EBADMSG || ret == -EINVAL || ret == -EEXIST || ret == -ENOENT;
}

/* The message of what went wrong in another thread, or else just now. */
static const char *why_of(const struct dep_job *job)
{
	return job->why[0] ? job->why : dep_error();
}

static void note_bad(struct dep_queue *q, const struct dep_job *job)
{
	char text[640];

	if (q->bad++ >= 16)
		return;
	snprintf(text, sizeof(text), "rejected: %s of %u: %s",
		 job->kind == DEP_JOB_DESCRIPTORS ? "descriptors" :
		 is_chunk(job->kind) ? "a chunk" : "an entry",
		 job->serial, why_of(job));
	dep_writer_note(q->w, text);
}

static void fail(struct dep_queue *q, const struct dep_job *job, int ret)
{
	const char *why = why_of(job);

	if (load(&q->failed))
		return;
	snprintf(q->error, sizeof(q->error), "%s", why && *why ? why : strerror(-ret));
	store(&q->failed, true);
	dep_queue_stop(q);
}

static int put_chunk(struct dep_queue *q, struct dep_job *job)
{
	struct dep_packed *packed = job->packed;
	int ret = job->ret;

	job->packed = NULL;
	if (job->kind == DEP_JOB_SCAN && !job->chunk.fill)
		return 0;
	if (job->kind == DEP_JOB_SCAN)
		__atomic_fetch_add(&q->scanned, job->chunk.fill, __ATOMIC_RELAXED);
	if (!ret && !dep_queue_stopped(q))
		ret = dep_writer_put(q->w, packed);
	else if (packed)
		dep_packed_free(packed);
	if (ret || dep_queue_stopped(q))
		q->discarded += job->chunk.fill;
	return ret;
}

static int put_descriptors(struct dep_queue *q, struct dep_job *job)
{
	int ret;

	if (dep_queue_stopped(q))
		return 0;
	ret = dep_writer_log(q->w, job->serial, job->data, job->size);
	if (ret)
		job->why[0] = 0;
	return ret ? ret : job->ret;
}

/* Put one job into the store. */
static void put_job(struct dep_queue *q, struct dep_job *job)
{
	int ret = 0;

	switch (job->kind) {
	case DEP_JOB_PROCESS:
		ret = dep_writer_process(q->w, &job->process);
		break;
	case DEP_JOB_PROCESS_END:
		ret = dep_writer_process_end(q->w, &job->process);
		break;
	case DEP_JOB_THREAD:
		ret = dep_writer_thread(q->w, &job->thread);
		break;
	case DEP_JOB_THREAD_END:
		ret = dep_writer_thread_end(q->w, &job->thread);
		break;
	case DEP_JOB_DESCRIPTORS:
		ret = put_descriptors(q, job);
		break;
	case DEP_JOB_SEGMENT:
	case DEP_JOB_SCAN:
		ret = put_chunk(q, job);
		break;
	case DEP_JOB_NOTE:
		ret = dep_writer_note(q->w, (const char *)job->data);
		break;
	}

	if (is_bad_input(ret))
		note_bad(q, job);
	else if (ret)
		fail(q, job, ret);
	store(&q->stored, dep_writer_bytes(q->w));
	if (q->max_size && q->stored >= q->max_size && !dep_queue_stopped(q))
		dep_queue_stop(q);
}

/* Pack a chunk with what was @known when it was its turn. */
static int pack_chunk(struct dep_queue *q, struct dep_job *job, struct dep_press *press, u32 known)
{
	if (job->kind == DEP_JOB_SCAN) {
		job->chunk.fill = dep_writer_scan_known(q->w, known, job->data, job->size);
		job->chunk.tail_at = job->chunk.fill;
		if (!job->chunk.fill)
			return 0;
	}
	/* It would be thrown away. */
	if (dep_queue_stopped(q))
		return 0;
	if (!press)
		return -ENOMEM;
	return dep_writer_pack(q->w, press, known, job->serial, &job->chunk, job->data,
			       &job->packed);
}

/* Whoever begins something long wakes another for what comes next. */
static void wake_another(struct dep_queue *q)
{
	if (q->idle && q->next && !q->admitting)
		pthread_cond_signal(&q->more);
}

/* Prepare job @job, which nobody else does; with the lock held but not throughout. */
static void prepare(struct dep_queue *q, struct dep_job *job, struct dep_press *press)
{
	const char *why = "";
	u32 known;

	q->next = job->next;
	job->state = JOB_READY;
	if (!q->w)
		return;
	if (is_chunk(job->kind)) {
		job->state = JOB_BUSY;
		known = dep_writer_known(q->w);
		wake_another(q);
		pthread_mutex_unlock(&q->lock);
		job->ret = pack_chunk(q, job, press, known);
		why = dep_error();
		pthread_mutex_lock(&q->lock);
	} else if (job->kind == DEP_JOB_DESCRIPTORS) {
		job->state = JOB_BUSY;
		q->admitting = true;
		pthread_mutex_unlock(&q->lock);
		job->ret = dep_writer_admit(q->w, job->data, job->size, &job->size);
		why = dep_error();
		pthread_mutex_lock(&q->lock);
		q->admitting = false;
		wake_another(q);
	}
	if (job->ret)
		snprintf(job->why, sizeof(job->why), "%s", why);
	job->state = JOB_READY;
}

/* Take the first job off and put it; with the lock held but not meanwhile. */
static void put_first(struct dep_queue *q)
{
	struct dep_job *job = q->first;
	bool ring;

	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	if (q->w) {
		q->putting = true;
		wake_another(q);
		pthread_mutex_unlock(&q->lock);
		put_job(q, job);
		pthread_mutex_lock(&q->lock);
		q->putting = false;
	}
	give_back(q, job);
	ring = q->wanted;
	q->wanted = false;
	if (ring) {
		__atomic_fetch_add(&q->s->doorbell, 1, __ATOMIC_SEQ_CST);
		futex_wake(&q->s->doorbell);
	}
}

static bool can_put(const struct dep_queue *q)
{
	return !q->putting && q->first && q->first->state == JOB_READY;
}

static bool can_prepare(const struct dep_queue *q)
{
	return !q->admitting && q->next;
}

static void *storing_thread(void *arg)
{
	struct dep_queue *q = arg;
	struct dep_press *press = q->w ? dep_press_new(q->w) : NULL;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		if (can_put(q)) {
			put_first(q);
		} else if (can_prepare(q)) {
			prepare(q, q->next, press);
		} else if (q->ended && !q->next) {
			/* What is left is somebody's who is at it. */
			break;
		} else {
			q->idle++;
			pthread_cond_wait(&q->more, &q->lock);
			q->idle--;
		}
	}
	pthread_cond_broadcast(&q->more);
	pthread_mutex_unlock(&q->lock);
	dep_press_free(press);
	return NULL;
}

static u32 count_workers(const struct dep_writer *w, u32 wish)
{
	long n = wish ? wish : sysconf(_SC_NPROCESSORS_ONLN);

	if (!w || n < 1)
		return 1;
	return n < MAX_WORKERS ? n : MAX_WORKERS;
}

struct dep_queue *dep_queue_create(struct dep_writer *w, struct adept_session *s, u32 chunk_size,
				   u64 max_size, u32 workers)
{
	struct dep_queue *q = calloc(1, sizeof(*q));
	u32 want = count_workers(w, workers);
	sigset_t all, old;
	int err = 0;

	if (!q)
		return NULL;
	q->w = w;
	q->s = s;
	q->chunk_size = chunk_size;
	q->max_size = max_size;
	q->max_chunks = QUEUE_BYTES / chunk_size;
	if (q->max_chunks > QUEUE_CHUNKS)
		q->max_chunks = QUEUE_CHUNKS;
	if (q->max_chunks < 2)
		q->max_chunks = 2;
	q->last = &q->first;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->more, NULL);

	/* Signals are the loop's affair: they interrupt its sleep. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; q->nthreads < want && !err; q->nthreads += !err)
		err = pthread_create(&q->thread[q->nthreads], NULL, storing_thread, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!q->nthreads) {
		free(q);
		errno = err;
		return NULL;
	}
	return q;
}

void dep_queue_finish(struct dep_queue *q)
{
	u32 i;

	pthread_mutex_lock(&q->lock);
	q->ended = true;
	pthread_cond_broadcast(&q->more);
	pthread_mutex_unlock(&q->lock);
	for (i = 0; i < q->nthreads; i++)
		pthread_join(q->thread[i], NULL);
}

void dep_queue_loss(struct dep_queue *q, struct dep_loss *loss)
{
	loss->discarded_bytes += q->discarded;
}

void dep_queue_free(struct dep_queue *q)
{
	struct dep_job *job;

	while ((job = q->spare)) {
		q->spare = job->next;
		free(job);
	}
	pthread_cond_destroy(&q->more);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
