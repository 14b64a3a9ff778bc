// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The storing thread and its queue.
 *
 * The lock guards the list, the counters of what is queued and the free list; the
 * flags are atomic because the loop asks for them once per chunk.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define QUEUE_BYTES	(64u << 20)	/* of chunks waiting to be stored.. */
#define QUEUE_CHUNKS	8u		/* ..but no more than so many */
#define QUEUE_DESC	(16u << 20)	/* of descriptors */

struct dep_queue {
	struct dep_writer *w;
	struct adept_session *s;
	u32 chunk_size;
	u64 max_size;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct dep_job *first, **last;
	struct dep_job *spare;	/* chunk-sized */
	u32 chunks, max_chunks;	/* chunk-sized jobs that exist outside the free list */
	u64 desc_bytes;
	bool ended;
	bool wanted;		/* the loop was refused room */

	bool stopped, failed;
	u64 stored;
	u64 scanned;		/* bytes found in chunks that were never published */
	char error[512];

	/* Only the storing thread writes these. */
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

static void note_bad(struct dep_queue *q, const struct dep_job *job)
{
	char text[640];

	if (q->bad++ >= 16)
		return;
	snprintf(text, sizeof(text), "rejected: %s of %u: %s",
		 job->kind == DEP_JOB_DESCRIPTORS ? "descriptors" :
		 is_chunk(job->kind) ? "a chunk" : "an entry",
		 job->serial, dep_error());
	dep_writer_note(q->w, text);
}

static void fail(struct dep_queue *q, int ret)
{
	const char *why = dep_error();

	if (load(&q->failed))
		return;
	snprintf(q->error, sizeof(q->error), "%s", why && *why ? why : strerror(-ret));
	store(&q->failed, true);
	dep_queue_stop(q);
}

static int do_chunk(struct dep_queue *q, struct dep_job *job)
{
	int ret;

	if (job->kind == DEP_JOB_SCAN) {
		u32 fill = dep_writer_scan(q->w, job->data, job->size);

		if (!fill)
			return 0;
		job->chunk.fill = fill;
		job->chunk.tail_at = fill;
		__atomic_fetch_add(&q->scanned, fill, __ATOMIC_RELAXED);
	}
	if (dep_queue_stopped(q)) {
		q->discarded += job->chunk.fill;
		return 0;
	}
	ret = dep_writer_segment(q->w, job->serial, &job->chunk, job->data);
	if (ret)
		q->discarded += job->chunk.fill;
	return ret;
}

static void do_job(struct dep_queue *q, struct dep_job *job)
{
	int ret = 0;

	switch (job->kind) {
	case DEP_JOB_PROCESS:
		ret = dep_writer_process(q->w, &job->process);
		break;
	case DEP_JOB_PROCESS_END:
		ret = dep_writer_process_end(q->w, job->serial, job->ns);
		break;
	case DEP_JOB_THREAD:
		ret = dep_writer_thread(q->w, &job->thread);
		break;
	case DEP_JOB_THREAD_END:
		ret = dep_writer_thread_end(q->w, &job->thread);
		break;
	case DEP_JOB_DESCRIPTORS:
		if (!dep_queue_stopped(q))
			ret = dep_writer_descriptors(q->w, job->serial, job->data, job->size);
		break;
	case DEP_JOB_SEGMENT:
	case DEP_JOB_SCAN:
		ret = do_chunk(q, job);
		break;
	case DEP_JOB_NOTE:
		ret = dep_writer_note(q->w, (const char *)job->data);
		break;
	}

	if (is_bad_input(ret))
		note_bad(q, job);
	else if (ret)
		fail(q, ret);
	store(&q->stored, dep_writer_bytes(q->w));
	if (q->max_size && q->stored >= q->max_size && !dep_queue_stopped(q))
		dep_queue_stop(q);
}

static void *storing_thread(void *arg)
{
	struct dep_queue *q = arg;
	struct dep_job *job;
	bool ring;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!q->first && !q->ended)
			pthread_cond_wait(&q->more, &q->lock);
		job = q->first;
		if (!job)
			break;
		q->first = job->next;
		if (!q->first)
			q->last = &q->first;
		pthread_mutex_unlock(&q->lock);

		if (q->w)
			do_job(q, job);

		pthread_mutex_lock(&q->lock);
		give_back(q, job);
		ring = q->wanted;
		q->wanted = false;
		if (ring) {
			__atomic_fetch_add(&q->s->doorbell, 1, __ATOMIC_SEQ_CST);
			futex_wake(&q->s->doorbell);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct dep_queue *dep_queue_create(struct dep_writer *w, struct adept_session *s, u32 chunk_size,
				   u64 max_size)
{
	struct dep_queue *q = calloc(1, sizeof(*q));
	sigset_t all, old;
	int err;

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
	err = pthread_create(&q->thread, NULL, storing_thread, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		free(q);
		errno = err;
		return NULL;
	}
	return q;
}

void dep_queue_finish(struct dep_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->ended = true;
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
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
