/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queue between the loop and the storing threads, which alone call the
 * dep_writer.  The store gets the jobs of a queue in the order they are put.
 *
 * A chunk is not copied into its job: it stays where it is until the store has it, and
 * the job's done() gives its memory back.  So a collector that is killed has taken
 * nothing with it, and what waits here is bounded by the rings.
 */
#ifndef ADEPT_COLLECT_WRITE_QUEUE_H
#define ADEPT_COLLECT_WRITE_QUEUE_H

#include <stdbool.h>

#include <dep/store.h>

#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"

struct dep_packed;
struct dep_queue;

enum dep_job_kind {
	DEP_JOB_PROCESS,
	DEP_JOB_PROCESS_END,
	DEP_JOB_THREAD,
	DEP_JOB_THREAD_END,
	DEP_JOB_DESCRIPTORS,
	DEP_JOB_SEGMENT,
	DEP_JOB_SCAN,		/* a segment whose fill must be found first */
	DEP_JOB_MESSAGE,
	DEP_JOB_MARK,		/* dep_writer_mark() */
	DEP_JOB_NOTHING,	/* only its done() */
	DEP_JOB_CLOSE,		/* dep_writer_close(); the last one */
};

/** struct dep_job - one call of the writer */
struct dep_job {
	struct dep_job *next;
	enum dep_job_kind kind;
	u32 serial;		/* of the process or thread */
	size_t size;		/* bytes of data, or of body */
	size_t room;		/* bytes that data has room for */
	const u8 *body;		/* of a chunk: where it stands; NULL: in data */
	/**
	 * @done: may be NULL; called by a storing thread when the store has the job or
	 * has refused it, in the order of the queue and one at a time
	 */
	void (*done)(struct dep_job *job);
	/* for done() */
	void *owner;
	u32 slot, dirty;
	u64 upto;
	/* of the queue */
	struct dep_queue *queue;
	int state;
	int ret;		/* of packing or admitting */
	struct dep_packed *packed;
	char why[160];
	union {
		struct dep_process process;	/* exe is in data, or none */
		struct dep_thread thread;
		struct adept_chunk chunk;
		struct dep_ending close;
	};
	u8 data[];
};

/* ---- storing threads ---- */

struct dep_pool;

/* Where a chunk's time goes. */
enum dep_stage { DEP_STAGE_COPY, DEP_STAGE_PACK, DEP_STAGE_WRITE, DEP_STAGES };

/** struct dep_pool_stats - since the pool was made */
struct dep_pool_stats {
	u32 workers, busy;
	u32 jobs;			/* that wait or are being worked on */
	u64 stage_ns[DEP_STAGES], stage_chunks[DEP_STAGES];
};

/**
 * dep_pool_create() - begin storing threads, for any number of queues
 * @workers: 0 = one per processor, 4 at most.  Stores do not depend on it.
 */
struct dep_pool *dep_pool_create(u32 workers);
/** dep_pool_free() - end them; there are no queues any more */
void dep_pool_free(struct dep_pool *p);
void dep_pool_stats(struct dep_pool *p, struct dep_pool_stats *out);

/* ---- queues ---- */

/** struct dep_queue_setup - what a queue is made with */
struct dep_queue_setup {
	struct dep_writer *w;		/* NULL: nothing is kept */
	struct adept_session *s;	/* stop is set when the store fails or is full, the.. */
	u32 chunk_size;			/* ..wakeup rung when the loop has something to do */
	u64 max_size;			/* 0 = none */
};

struct dep_queue *dep_queue_create(struct dep_pool *pool, const struct dep_queue_setup *setup);

/**
 * dep_queue_job() - a job with room for @room bytes
 *
 * Descriptors are bounded: NULL if too much is waiting already (the wakeup will ring)
 * or memory is short.  Other jobs are NULL only for want of memory.
 */
struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room);
void dep_queue_put(struct dep_queue *q, struct dep_job *job);
/** dep_queue_cancel() - give back a job that was not put */
void dep_queue_cancel(struct dep_queue *q, struct dep_job *job);
/** dep_queue_write_to() - the writer, if there was none when the queue was made; before any job */
void dep_queue_write_to(struct dep_queue *q, struct dep_writer *w);
/** dep_queue_wake() - wake the loop */
void dep_queue_wake(struct dep_queue *q);
/** dep_queue_stopped() - nothing more is kept: throw chunks away */
bool dep_queue_stopped(struct dep_queue *q);
void dep_queue_stop(struct dep_queue *q);
bool dep_queue_failed(struct dep_queue *q);
u64 dep_queue_stored(struct dep_queue *q);
u64 dep_queue_scanned(struct dep_queue *q);
/**
 * dep_queue_mark() - see to it that what is stored is on the disk within a second, or 64 MiB
 *
 * For the loop, in each of its rounds.
 */
void dep_queue_mark(struct dep_queue *q);
/** dep_queue_drained() - everything that was put is done */
bool dep_queue_drained(struct dep_queue *q);
/** dep_queue_closed() - DEP_JOB_CLOSE is done: true, and what it returned */
bool dep_queue_closed(struct dep_queue *q, int *ret);
const char *dep_queue_error(struct dep_queue *q);
/** dep_queue_drain() - wait until everything that was put is done */
void dep_queue_drain(struct dep_queue *q);
/** dep_queue_ending() - if the store failed, let @e say so; the store's last error is the cause */
void dep_queue_ending(struct dep_queue *q, struct dep_ending *e);
/** dep_queue_loss() - add what the queue threw away or found bad */
void dep_queue_loss(struct dep_queue *q, struct dep_loss *loss);
/** dep_queue_free() - after dep_queue_drain() */
void dep_queue_free(struct dep_queue *q);

#endif
