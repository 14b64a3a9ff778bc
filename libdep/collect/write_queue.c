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
 * If the queue has a window, chunks and the entries of processes and threads are put there instead,
 * and chunks are not packed.
 *
 * Jobs are put into the store in the order of the queue. So the contents of the store do not depend
 * on the number of threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libdep/format/file/error.h"
#include "libdep/format/write/pack.h"
#include "snapshot_store.h"
#include "window.h"
#include "writer_pool.h"
#include "internal.h"

#define QUEUE_DESC	(16u << 20)	/* maximum bytes of descriptors in the queue */
#define PREFAULT_MIN	(64u << 10)	/* minimum bytes of a job whose memory is prefaulted */
#define MAX_PREPARED	8u		/* maximum number of prepared jobs */
#define MARK_BYTES	(64ull << 20)	/* bytes of segments between durable points */
#define MARK_NS		1000000000ull	/* time between durable points */

static bool is_chunk(enum dep_job_kind kind)
{
	return kind == DEP_JOB_SEGMENT || kind == DEP_JOB_SCAN || kind == DEP_JOB_SAVE_SCAN;
}

/* The end of the records in the chunk must be found. */
static bool is_scan(enum dep_job_kind kind)
{
	return kind == DEP_JOB_SCAN || kind == DEP_JOB_SAVE_SCAN;
}

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

/* Free a job. Called with the lock held. */
static void give_back(struct dep_queue *q, struct dep_job *job)
{
	if (job->kind == DEP_JOB_DESCRIPTORS)
		q->desc_bytes -= job->room;
	free(job);
}

void dep_queue_cancel(struct dep_queue *q, struct dep_job *job)
{
	pthread_mutex_lock(&q->pool->lock);
	give_back(q, job);
	pthread_mutex_unlock(&q->pool->lock);
}

/*
 * True if another writer thread should be woken. A thread that works for this queue returns to it
 * soon, unless it writes to a slow disk for another queue. Called with the lock held; wake the
 * thread after the unlock, since it needs the lock.
 */
static bool wants_another(const struct dep_queue *q)
{
	if (!q->pool->idle || !q->next || q->prepared >= MAX_PREPARED)
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
	wake = wants_another(q);
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

/* True if bad data of a recorded program caused the error. Other errors end the recording. */
static bool is_bad_input(int ret)
{
	return ret == -EBADMSG || ret == -EINVAL || ret == -EEXIST || ret == -ENOENT;
}

/* The error message of preparing the job, if there is one; else this thread's last message. */
static const char *why_of(const struct dep_job *job)
{
	return job->why[0] ? job->why : dep_error();
}

static void note_bad(struct dep_queue *q, const struct dep_job *job)
{
	char text[640];

	if (q->bad++ >= 16)
		return;
	snprintf(text, sizeof(text), "rejected %s of serial number %u: %s",
		 job->kind == DEP_JOB_DESCRIPTORS ? "descriptors" :
		 is_chunk(job->kind) ? "a chunk" : "an entry",
		 job->serial, why_of(job));
	dep_writer_message(q->set.w, text);
}

static void fail(struct dep_queue *q, const struct dep_job *job, int ret)
{
	const char *why = why_of(job);

	if (load(&q->failed))
		return;
	snprintf(q->error, sizeof(q->error), "%s", why && *why ? why : strerror(-ret));
	q->error_number = -ret;
	store(&q->failed, true);
	dep_queue_stop(q);
}

/*
 * True if records are not stored any more.  The chunks of a window are stored in any case, when it
 * ends: later ones did not get into it.
 */
static bool discards(struct dep_queue *q)
{
	return dep_queue_stopped(q) && !q->stores_window;
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
	if (!ret && !discards(q))
		ret = dep_writer_put(q->set.w, packed);
	else if (packed)
		dep_packed_free(packed);
	if (ret || discards(q))
		q->discarded += job->chunk.fill;
	return ret;
}

static struct dep_moment present(void)
{
	return (struct dep_moment){ .ns = now_ns(), .timestamp = __builtin_ia32_rdtsc() };
}

static int put_window_chunk(struct dep_queue *q, const struct dep_job *job)
{
	bool stopped = dep_queue_stopped(q);
	u32 fill = job->chunk.fill;
	int ret = job->ret;

	if (job->kind == DEP_JOB_SCAN)
		__atomic_fetch_add(&q->scanned, fill, __ATOMIC_RELAXED);
	if (!ret && !stopped && fill)
		ret = dep_window_chunk(q->set.window, job, present());
	if (ret || stopped)
		q->discarded += fill;
	return ret;
}

/* The loop makes no such job if there is no window, so without one it was ended meanwhile. */
static void save(struct dep_queue *q, struct dep_job *job)
{
	struct dep_window *w = q->set.window;
	struct dep_saved saved;

	if (!w || dep_window_save(w, &saved))
		dep_snapshot_start(job->owner, NULL, q->set.s);
	else
		dep_snapshot_start(job->owner, &saved, q->set.s);
}

static int keep_descriptors(struct dep_queue *q, const struct dep_job *job)
{
	int ret = 0;

	if (!dep_queue_stopped(q))
		ret = dep_window_descriptors(q->set.window, job->serial, job->data, job->size,
					     dep_writer_index_bytes(q->set.w));
	if (ret == -E2BIG)
		return dep_fail(ret, "the descriptions of the code that the programs can still "
				"execute take more than --last allows: give a larger size");
	return ret ? ret : job->ret;
}

/* ---- the index of fragments, for a trim of the window ---- */

static bool frag_number(void *arg, u32 first_exit, u32 *number)
{
	return dep_writer_frag(arg, first_exit, number);
}

static void named(void *arg, const u8 *body, u32 size, u32 from, u32 n, u8 *bits)
{
	dep_writer_named(arg, body, size, from, n, bits);
}

static void forget(void *arg, struct dep_forgotten *f)
{
	dep_writer_forget(arg, f);
}

static int begin_trim(struct dep_queue *q, const struct dep_job *job)
{
	const struct dep_trim_ops ops = { frag_number, named, forget, q->set.w };

	return dep_window_trim_begin(q->set.window, job->upto, &ops);
}

/* Put a job into the window. Return: 1 if it must go to the store, 0 or a negative errno. */
static int put_window(struct dep_queue *q, const struct dep_job *job)
{
	switch (job->kind) {
	case DEP_JOB_DESCRIPTORS:
		return keep_descriptors(q, job);
	case DEP_JOB_SAVE_SCAN:
		return job->ret || !job->chunk.fill ? job->ret :
		       dep_window_save_chunk(q->set.window, job, present());
	case DEP_JOB_SAVE_END:
		return dep_window_save_end(q->set.window, job);
	case DEP_JOB_TRIM_BEGIN:
		return begin_trim(q, job);
	case DEP_JOB_TRIM_THREAD:
		dep_window_trim_thread(q->set.window, job);
		return 0;
	case DEP_JOB_TRIM_END:
		dep_window_trim_end(q->set.window);
		return 0;
	case DEP_JOB_PROCESS:
	case DEP_JOB_PROCESS_END:
	case DEP_JOB_THREAD:
	case DEP_JOB_THREAD_END:
		return dep_window_entry(q->set.window, job);
	case DEP_JOB_SEGMENT:
	case DEP_JOB_SCAN:
		return put_window_chunk(q, job);
	default:
		return 1;
	}
}

static int put_descriptors(struct dep_queue *q, struct dep_job *job)
{
	int ret;

	if (discards(q))
		return 0;
	ret = dep_writer_log(q->set.w, job->serial, job->data, job->size);
	if (ret)
		job->why[0] = 0;
	return ret ? ret : job->ret;
}

static void close_store(struct dep_queue *q, struct dep_job *job)
{
	dep_queue_ending(q, &job->close);
	q->closed_ret = dep_writer_close(q->set.w, &job->close);
	if (q->closed_ret < 0)
		fail(q, job, q->closed_ret);
	q->set.w = NULL;
}

static int store_job(struct dep_queue *q, struct dep_job *job)
{
	int ret;

	switch (job->kind) {
	case DEP_JOB_PROCESS:
		return dep_writer_process(q->set.w, &job->process);
	case DEP_JOB_PROCESS_END:
		return dep_writer_process_end(q->set.w, &job->process);
	case DEP_JOB_THREAD:
		return dep_writer_thread(q->set.w, &job->thread);
	case DEP_JOB_THREAD_END:
		return dep_writer_thread_end(q->set.w, &job->thread);
	case DEP_JOB_DESCRIPTORS:
		return put_descriptors(q, job);
	case DEP_JOB_SEGMENT:
	case DEP_JOB_SCAN:
		return put_chunk(q, job);
	case DEP_JOB_MESSAGE:
		return dep_writer_message(q->set.w, (const char *)job->data);
	case DEP_JOB_MARK:
		ret = dep_writer_mark(q->set.w);
		store(&q->marking, false);
		return ret;
	case DEP_JOB_LAST:
		return dep_writer_last(q->set.w, &job->last);
	case DEP_JOB_LOG:
		return discards(q) ? 0 : dep_writer_log(q->set.w, job->serial, job->body,
							job->size);
	case DEP_JOB_SAVE:
		save(q, job);
		break;
	case DEP_JOB_SAVE_SCAN:
	case DEP_JOB_SAVE_END:
	case DEP_JOB_TRIM_BEGIN:
	case DEP_JOB_TRIM_THREAD:
	case DEP_JOB_TRIM_END:
	case DEP_JOB_NOTHING:
		break;
	case DEP_JOB_CLOSE:
		close_store(q, job);
		break;
	}
	return 0;
}

/* Put one job into the window or the store. */
static void put_job(struct dep_queue *q, struct dep_job *job)
{
	int ret = q->set.window ? put_window(q, job) : 1;

	if (ret == 1)
		ret = store_job(q, job);
	if (is_bad_input(ret))
		note_bad(q, job);
	else if (ret)
		fail(q, job, ret);
	if (!q->set.w)
		return;
	store(&q->stored, dep_writer_bytes(q->set.w));
	store(&q->unmarked, dep_writer_unmarked(q->set.w));
	if (q->set.max_size && q->stored >= q->set.max_size && !dep_queue_stopped(q))
		dep_queue_stop(q);
}

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
 * Copy a chunk, since it must not change after it was checked. A chunk that a thread may still
 * write to, or that belongs to a killed thread, is copied by dep_copy_upwards().
 */
static const u8 *copy_chunk(struct dep_worker *me, const struct dep_job *job)
{
	size_t size = (job->size + 7) & ~7ul;
	u64 since = now_ns();

	if (!job->body)
		return job->data;
	if (me->room < size) {
		free(me->copy);
		me->copy = malloc(size);
		me->room = me->copy ? size : 0;
	}
	if (!me->copy)
		return NULL;
	if (is_scan(job->kind))
		dep_copy_upwards(me->copy, job->body, size);
	else
		memcpy(me->copy, job->body, job->size);
	count_stage(me->pool, DEP_STAGE_COPY, since);
	return me->copy;
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
	body = copy_chunk(me, job);
	since = now_ns();
	if (!body)
		return -ENOMEM;
	if (is_scan(job->kind)) {
		job->chunk.fill = dep_writer_scan_known(q->set.w, known, body, job->size);
		job->chunk.tail_at = job->chunk.fill;
		if (!job->chunk.fill)
			return 0;
	}
	/* Do not pack a segment that would be discarded, or that waits in the window. */
	if (discards(q) || q->set.window)
		return 0;
	ret = dep_writer_pack(q->set.w, me->press, known, job->serial, &job->chunk, body,
			      &job->packed);
	count_stage(me->pool, DEP_STAGE_PACK, since);
	return ret;
}

/* Release the lock for a long operation; another thread may do the next job meanwhile. */
static void unlock(struct dep_queue *q)
{
	bool wake = wants_another(q);

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
	if (is_chunk(job->kind)) {
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
	bool chunk = is_chunk(job->kind), closing = job->kind == DEP_JOB_CLOSE, ring;
	u64 since;

	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	q->prepared--;
	q->putting = true;
	unlock(q);
	since = now_ns();
	if (q->set.w) {
		put_job(q, job);
		if (chunk)
			count_stage(q->pool, DEP_STAGE_WRITE, since);
	}
	if (job->done)
		job->done(job);
	pthread_mutex_lock(lock);
	q->putting = false;
	q->pool->jobs--;
	give_back(q, job);
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

	if (!put && (q->admitting || !q->next || q->prepared >= MAX_PREPARED))
		return false;
	q->workers++;
	if (put)
		put_first(q);
	else
		prepare(q, q->next, me);
	q->workers--;
	return true;
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
	q->stores_window = !dep_queue_failed(q) || q->error_number == E2BIG;
	dep_window_expire(w, present());
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
