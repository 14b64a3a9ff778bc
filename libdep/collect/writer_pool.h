/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between write_queue.c and writer_pool.c: what storing threads do for a queue.
 *
 * The pool's lock guards the lists of all queues, the states of their jobs, and the
 * counters of what is queued.  Flags that the loop asks for once per chunk are atomic.
 */
#ifndef ADEPT_COLLECT_WRITER_POOL_H
#define ADEPT_COLLECT_WRITER_POOL_H

#include <pthread.h>

#include "write_queue.h"

#define DEP_POOL_WORKERS	4u

struct dep_compressor;

enum { JOB_WAITS, JOB_BUSY, JOB_READY };

struct dep_queue {
	struct dep_queue_setup set;
	struct dep_pool *pool;
	struct dep_queue *after;	/* the pool's list, a circle */

	struct dep_job *first, **last;
	struct dep_job *next;	/* the first that nobody prepares */
	u32 prepared;		/* jobs that are busy or ready */
	u32 workers;		/* storing threads that are at work for it */
	bool admitting, putting;
	u64 desc_bytes;
	bool wanted;		/* the loop was refused room */

	bool stopped, failed, closed;
	int closed_ret;
	u64 stored;
	u64 scanned;		/* bytes found in chunks that were never published */
	char error[512];
	int error_number;	/* errno */

	/* Durable points: dep_queue_mark() */
	u64 unmarked;		/* bytes stored since the last one */
	u64 marked_ns;		/* when the loop last asked for one.. */
	bool marking;		/* ..and whether that is under way */

	/* Only who is putting writes these. */
	u64 discarded;
	u64 bad;
};

/** struct dep_worker - a storing thread */
struct dep_worker {
	struct dep_pool *pool;
	pthread_t thread;
	struct dep_compressor *press;
	u8 *copy;		/* of a chunk */
	size_t room;
};

struct dep_pool {
	pthread_mutex_t lock;
	pthread_cond_t more;	/* there may be something to do */
	pthread_cond_t drained;	/* a queue is empty */
	struct dep_worker worker[DEP_POOL_WORKERS];
	u32 nworkers;
	struct dep_queue *turn;	/* where to look first; NULL: there are no queues */
	u32 idle, jobs;
	bool ended;
	u64 stage_ns[DEP_STAGES], stage_chunks[DEP_STAGES];
};

/* With the lock held, but not throughout: do what can be done, or return false. */
bool dep_queue_work(struct dep_queue *q, struct dep_worker *me);

#endif
