// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Put a prepared job into the store, or into the window of a recording with --last.
 *
 * If the queue has a window, chunks and the entries of processes and threads are put there instead,
 * and chunks are not packed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/format/write/pack.h"
#include "snapshot_store.h"
#include "window.h"
#include "writer_pool.h"
#include "internal.h"

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
		 dep_job_is_chunk(job->kind) ? "a chunk" : "an entry",
		 job->serial, why_of(job));
	dep_writer_message(q->set.w, text);
}

static void fail(struct dep_queue *q, const struct dep_job *job, int ret)
{
	const char *why = why_of(job);

	if (ret != -E2BIG)
		store(&q->store_failed, true);
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
bool dep_queue_discards(struct dep_queue *q)
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
	if (!ret && !dep_queue_discards(q))
		ret = dep_writer_put(q->set.w, packed);
	else if (packed)
		dep_packed_free(packed);
	if (ret || dep_queue_discards(q)) {
		q->discarded += job->chunk.fill;
		/* For done(): the store has not got it. */
		job->ret = ret ? ret : -ECANCELED;
	}
	return ret;
}

struct dep_moment dep_queue_now(void)
{
	return (struct dep_moment){ .ns = now_ns(), .timestamp = __builtin_ia32_rdtsc() };
}

/* Say in the store that the window has become smaller. */
static void note_full(struct dep_queue *q, u64 before)
{
	u64 limit = dep_window_limit(q->set.window);
	char text[160];

	if (limit == before)
		return;
	snprintf(text, sizeof(text), "the disk is full: from now on at most %llu KiB are kept "
		 "(--last)", (unsigned long long)limit >> 10);
	dep_writer_message(q->set.w, text);
}

static int put_window_chunk(struct dep_queue *q, const struct dep_job *job)
{
	bool stopped = dep_queue_stopped(q);
	u32 fill = job->chunk.fill;
	int ret = job->ret;

	if (job->kind == DEP_JOB_SCAN)
		__atomic_fetch_add(&q->scanned, fill, __ATOMIC_RELAXED);
	if (!ret && !stopped && fill)
		ret = dep_window_chunk(q->set.window, job, dep_queue_now());
	if (ret || stopped)
		q->discarded += fill;
	return ret;
}

/* The loop makes no such job if there is no window, so without one it was ended meanwhile. */
static void start_snapshot(struct dep_queue *q, struct dep_job *job)
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
static int put_by_kind(struct dep_queue *q, const struct dep_job *job)
{
	switch (job->kind) {
	case DEP_JOB_DESCRIPTORS:
		return keep_descriptors(q, job);
	case DEP_JOB_SAVE_SCAN:
		return job->ret || !job->chunk.fill ? job->ret :
		       dep_window_save_chunk(q->set.window, job, dep_queue_now());
	case DEP_JOB_SAVE_END:
		return dep_window_save_end(q->set.window, job);
	case DEP_JOB_TRIM_BEGIN:
		return begin_trim(q, job);
	case DEP_JOB_TRIM_THREAD:
		dep_window_trim_thread(q->set.window, job);
		return 0;
	case DEP_JOB_TRIM_END:
		return dep_window_trim_end(q->set.window);
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

static int put_window(struct dep_queue *q, const struct dep_job *job)
{
	u64 limit = dep_window_limit(q->set.window);
	int ret = put_by_kind(q, job);

	note_full(q, limit);
	if (ret == -E2BIG)
		return dep_fail(ret, "the descriptions of the code that the programs can still "
				"execute, and the processes that forked them, take more than "
				"--last allows: give a larger size");
	return ret;
}

static int put_descriptors(struct dep_queue *q, struct dep_job *job)
{
	int ret;

	if (dep_queue_discards(q))
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
		return dep_queue_discards(q) ? 0 : dep_writer_log(q->set.w, job->serial, job->body,
							job->size);
	case DEP_JOB_SAVE:
		start_snapshot(q, job);
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
void dep_queue_put_job(struct dep_queue *q, struct dep_job *job)
{
	int ret = q->set.window ? put_window(q, job) : 1;

	if (ret == 1)
		ret = store_job(q, job);
	if (is_bad_input(ret))
		note_bad(q, job);
	else if (ret)
		fail(q, job, ret);
	if (ret)
		job->ret = ret;
	if (!q->set.w)
		return;
	store(&q->stored, dep_writer_bytes(q->set.w));
	store(&q->unmarked, dep_writer_unmarked(q->set.w));
	if (q->set.max_size && q->stored >= q->set.max_size && !dep_queue_stopped(q))
		dep_queue_stop(q);
}
