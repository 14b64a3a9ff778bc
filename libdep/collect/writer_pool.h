/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by write_queue.c, queue_work.c, queue_put.c and writer_pool.c: the work of writer threads
 * for a queue.
 *
 * The pool's lock guards the lists of all queues, the states of their jobs, and the counters of
 * queued data. Flags that the loop reads for each chunk are atomic.
 */
#ifndef ADEPT_COLLECT_WRITER_POOL_H
#define ADEPT_COLLECT_WRITER_POOL_H

#include <pthread.h>

#include "kept_chunk.h"
#include "write_queue.h"

#define DEP_POOL_WORKERS	4u
#define DEP_QUEUE_PREPARED	8u	/* maximum number of prepared jobs of a queue */

struct dep_compressor;

enum { JOB_WAITS, JOB_BUSY, JOB_READY };

struct dep_queue {
	struct dep_queue_setup set;
	struct dep_pool *pool;
	struct dep_queue *after;	/* circular list of the pool's queues */

	struct dep_job *first, **last;
	struct dep_job *next;	/* first job whose preparation has not begun */
	u32 prepared;		/* number of jobs in preparation or prepared */
	u32 workers;		/* number of writer threads that work for this queue now */
	bool admitting, putting;
	u32 packing;		/* number of chunks in preparation */
	u64 desc_bytes;
	bool wanted;		/* the loop waits for room in the queue: wake it */

	bool stopped, failed, closed;
	bool store_failed;	/* @failed, but not for a window that was too small (-E2BIG) */
	bool stores_window;	/* the window has ended: its chunks are stored even if @stopped */
	int closed_ret;
	u64 stored;
	u64 scanned;		/* bytes of records found in unpublished chunks */
	char error[512];
	int error_number;	/* errno of the first failed write */

	/* The fields up to @marking are for durable points; see dep_queue_mark(). */
	u64 unmarked;		/* bytes stored since the last durable point */
	u64 marked_ns;		/* time when the last durable point was requested */
	bool marking;		/* a durable point is requested and not written yet */

	/* discarded bytes and rejected jobs; written only by the thread that has set @putting */
	u64 discarded;
	u64 bad;
};

/** struct dep_worker - a writer thread */
struct dep_worker {
	struct dep_pool *pool;
	pthread_t thread;
	struct dep_compressor *press;
	struct dep_body_buffer copy;	/* for the copy of a chunk */
};

struct dep_pool {
	pthread_mutex_t lock;
	pthread_cond_t more;	/* signalled when there may be work */
	pthread_cond_t drained;	/* signalled when a queue is empty */
	struct dep_worker worker[DEP_POOL_WORKERS];
	u32 nworkers;
	struct dep_queue *turn;	/* queue that the next free thread tries first; NULL: no queues */
	u32 idle, jobs;
	bool ended;
	u64 stage_ns[DEP_STAGES], stage_chunks[DEP_STAGES];
};

static inline bool dep_job_is_chunk(enum dep_job_kind kind)
{
	return kind == DEP_JOB_SEGMENT || kind == DEP_JOB_SCAN || kind == DEP_JOB_SAVE_SCAN;
}

/* The end of the records in the chunk must be found. */
static inline bool dep_job_is_scan(enum dep_job_kind kind)
{
	return kind == DEP_JOB_SCAN || kind == DEP_JOB_SAVE_SCAN;
}

/* ---- write_queue.c ---- */

/* Free a job. Called with the lock held. */
void dep_queue_give_back(struct dep_queue *q, struct dep_job *job);
/*
 * True if another writer thread should be woken. Called with the lock held; wake the thread after
 * the unlock, since it needs the lock.
 */
bool dep_queue_wants_another(const struct dep_queue *q);

/* ---- queue_put.c ---- */

/* The present time, for a window. */
struct dep_moment dep_queue_now(void);
/* True if records are not stored any more. */
bool dep_queue_discards(struct dep_queue *q);
/* Put a prepared job into the window or the store. Only one thread at a time does so for @q. */
void dep_queue_put_job(struct dep_queue *q, struct dep_job *job);

/* ---- queue_work.c ---- */

/* Do one step for @q; false: none to do. Called with the lock held; releases it meanwhile. */
bool dep_queue_work(struct dep_queue *q, struct dep_worker *me);

#endif
