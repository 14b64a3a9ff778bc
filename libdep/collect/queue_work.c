// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The work of writer threads for a queue of jobs.
 *
 * A job is first prepared and then put into the store. Any writer thread does either step:
 *
 * - If the first job of the queue is prepared, a thread puts it into the store.
 * - Otherwise a thread prepares the next job. To prepare a chunk it copies and packs the chunk;
 *   several threads may do so at once. To prepare descriptors it admits them (dep_writer_admit());
 *   only one thread admits at a time, and no later job is prepared meanwhile.
 *
 * Jobs are put into the store in the order of the queue. So the contents of the store do not depend
 * on the number of threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/format/write/pack.h"
#include "writer_pool.h"
#include "internal.h"

static void count_stage(struct dep_pool *p, enum dep_stage stage, u64 since)
{
	__atomic_fetch_add(&p->stage_ns[stage], now_ns() - since, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->stage_chunks[stage], 1, __ATOMIC_RELAXED);
}

/*
 * Read whole words in order of address. If the copy has the id of a record, it then also has the
 * record's values, even while the thread writes. memcpy() guarantees no order.
 */
void dep_copy_upwards(u8 *to, const u8 *from, size_t size)
{
	const u64 *src = (const u64 *)from;
	size_t i;
	u64 word;

	for (i = 0; i < size / 8; i++) {
		word = __atomic_load_n(&src[i], __ATOMIC_ACQUIRE);
		memcpy(to + i * 8, &word, 8);
	}
}

/*
 * Copy a chunk, since it must not change after it was checked, or read it from a file. A chunk that
 * a thread may still write to, or that belongs to a killed thread, is copied by dep_copy_upwards().
 */
static int copy_chunk(struct dep_worker *me, const struct dep_job *job, const u8 **body)
{
	size_t size = (job->size + 7) & ~7ul;
	u64 since = now_ns();
	int err;

	*body = job->data;
	if (job->kept) {
		err = dep_kept_body(job->kept, &me->copy, body);
	} else if (!job->body) {
		return 0;
	} else {
		err = dep_kept_enlarge(&me->copy, size);
		if (!err && dep_job_is_scan(job->kind))
			dep_copy_upwards(me->copy.data, job->body, size);
		else if (!err)
			memcpy(me->copy.data, job->body, job->size);
		*body = me->copy.data;
	}
	count_stage(me->pool, DEP_STAGE_COPY, since);
	return err;
}

/* Pack a chunk, which may use only the first @known fragments: those admitted before it. */
static int pack_chunk(struct dep_queue *q, struct dep_job *job, struct dep_worker *me, u32 known)
{
	const u8 *body;
	u64 since;
	int ret;

	/* A window copies the chunk when it is put there. */
	if (q->set.window && job->kind == DEP_JOB_SEGMENT)
		return 0;
	ret = copy_chunk(me, job, &body);
	since = now_ns();
	if (ret)
		return ret;
	if (dep_job_is_scan(job->kind)) {
		job->chunk.fill = dep_writer_scan_known(q->set.w, known, body, job->size);
		job->chunk.tail_at = job->chunk.fill;
		if (!job->chunk.fill)
			return 0;
	}
	/* Do not pack a segment that would be discarded, or that waits in the window. */
	if (dep_queue_discards(q) || q->set.window)
		return 0;
	ret = dep_writer_pack(q->set.w, me->press, known, job->serial, &job->chunk, body,
			      &job->packed);
	count_stage(me->pool, DEP_STAGE_PACK, since);
	return ret;
}

/* Release the lock for a long operation; another thread may do the next job meanwhile. */
static void unlock(struct dep_queue *q)
{
	bool wake = dep_queue_wants_another(q);

	pthread_mutex_unlock(&q->pool->lock);
	if (wake)
		pthread_cond_signal(&q->pool->more);
}

/* Prepare @job. Called with the lock held; releases it meanwhile. */
static void prepare(struct dep_queue *q, struct dep_job *job, struct dep_worker *me)
{
	pthread_mutex_t *lock = &q->pool->lock;
	const char *why = "";
	bool alone;
	u32 known;

	q->next = job->next;
	q->prepared++;
	job->state = JOB_READY;
	if (!q->set.w)
		return;
	if (dep_job_is_chunk(job->kind)) {
		job->state = JOB_BUSY;
		known = dep_writer_known(q->set.w);
		q->packing++;
		unlock(q);
		job->ret = pack_chunk(q, job, me, known);
		why = dep_error();
		pthread_mutex_lock(lock);
		q->packing--;
	} else if (job->kind == DEP_JOB_DESCRIPTORS) {
		job->state = JOB_BUSY;
		q->admitting = true;
		/* What was taken out of the index before cannot be found any more. */
		alone = !q->packing && !q->putting;
		unlock(q);
		if (alone)
			dep_writer_reclaim(q->set.w);
		job->ret = dep_writer_admit(q->set.w, job->data, job->size, &job->size);
		why = dep_error();
		pthread_mutex_lock(lock);
		q->admitting = false;
	}
	if (job->ret)
		snprintf(job->why, sizeof(job->why), "%s", why);
	job->state = JOB_READY;
}

/* Store the first job and call its done(). Called with the lock held; releases it meanwhile. */
static void put_first(struct dep_queue *q)
{
	pthread_mutex_t *lock = &q->pool->lock;
	struct dep_job *job = q->first;
	bool chunk = dep_job_is_chunk(job->kind), closing = job->kind == DEP_JOB_CLOSE, ring;
	u64 since;

	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	q->prepared--;
	q->putting = true;
	unlock(q);
	since = now_ns();
	if (q->set.w) {
		dep_queue_put_job(q, job);
		if (chunk)
			count_stage(q->pool, DEP_STAGE_WRITE, since);
	}
	if (job->done)
		job->done(job);
	pthread_mutex_lock(lock);
	q->putting = false;
	q->pool->jobs--;
	dep_queue_give_back(q, job);
	ring = q->wanted || closing;
	q->wanted = false;
	if (closing)
		store(&q->closed, true);
	if (ring)
		dep_queue_wake(q);
	if (!q->first)
		pthread_cond_broadcast(&q->pool->drained);
}

bool dep_queue_work(struct dep_queue *q, struct dep_worker *me)
{
	bool put = !q->putting && q->first && q->first->state == JOB_READY;

	if (!put && (q->admitting || !q->next || q->prepared >= DEP_QUEUE_PREPARED))
		return false;
	q->workers++;
	if (put)
		put_first(q);
	else
		prepare(q, q->next, me);
	q->workers--;
	return true;
}
