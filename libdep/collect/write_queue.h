/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queue from the loop to the writer threads, which alone call the dep_writer. The store gets
 * the jobs of a queue in order.
 *
 * A chunk is not copied into its job. It stays in its ring until the store has it; then the job's
 * done() returns the memory. So a killed collector loses no chunk, and the rings bound the queue.
 */
#ifndef ADEPT_COLLECT_WRITE_QUEUE_H
#define ADEPT_COLLECT_WRITE_QUEUE_H

#include <stdbool.h>

#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"
#include "libdep/format/write/store_writer.h"

struct dep_packed;
struct dep_queue;

enum dep_job_kind {
	DEP_JOB_PROCESS,
	DEP_JOB_PROCESS_END,
	DEP_JOB_THREAD,
	DEP_JOB_THREAD_END,
	DEP_JOB_DESCRIPTORS,
	DEP_JOB_SEGMENT,
	DEP_JOB_SCAN,		/* a segment whose fill must be found */
	DEP_JOB_MESSAGE,
	DEP_JOB_MARK,		/* dep_writer_mark() */
	DEP_JOB_NOTHING,	/* only calls done() */
	DEP_JOB_CLOSE,		/* dep_writer_close(); the last job */
};

/** struct dep_job - one call of the writer */
struct dep_job {
	struct dep_job *next;
	enum dep_job_kind kind;
	u32 serial;		/* of the process or thread */
	size_t size;		/* bytes of @data or @body */
	size_t room;		/* size of @data */
	const u8 *body;		/* the chunk's memory; NULL: in @data */
	/**
	 * @done: NULL, or called by a writer thread when the store has the job or has rejected it;
	 *	in the order of the queue and one at a time
	 */
	void (*done)(struct dep_job *job);
	/* For done(). */
	void *owner;
	u32 slot, dirty;
	u64 upto;
	/* For the queue. */
	struct dep_queue *queue;
	int state;
	int ret;		/* result of packing or admitting */
	struct dep_packed *packed;
	char why[160];
	union {
		struct dep_process process;	/* its texts are in @data, or NULL */
		struct dep_thread thread;	/* its name is in @data, or NULL */
		struct adept_chunk chunk;
		struct dep_ending close;
	};
	u8 data[];
};

/* ---- writer threads ---- */

struct dep_pool;

/* Stages in which the time for a chunk is counted. */
enum dep_stage { DEP_STAGE_COPY, DEP_STAGE_PACK, DEP_STAGE_WRITE, DEP_STAGES };

/** struct dep_pool_stats - since the pool was created */
struct dep_pool_stats {
	u32 workers, busy;
	u32 jobs;			/* waiting or in work */
	u64 stage_ns[DEP_STAGES], stage_chunks[DEP_STAGES];
};

/**
 * dep_pool_create() - start writer threads, for any number of queues
 * @workers: at most 4; 0: one per processor. The stores do not depend on it.
 */
struct dep_pool *dep_pool_create(u32 workers);
/** dep_pool_free() - end the threads; there must be no queues */
void dep_pool_free(struct dep_pool *p);
void dep_pool_stats(struct dep_pool *p, struct dep_pool_stats *out);

/* ---- queues ---- */

/** struct dep_queue_setup - parameters of a queue */
struct dep_queue_setup {
	struct dep_writer *w;		/* NULL: nothing is kept */
	/* @stop is set when the store fails or is full; @wakeup wakes the loop */
	struct adept_session *s;
	u32 chunk_size;
	u64 max_size;			/* 0: no limit */
};

struct dep_queue *dep_queue_create(struct dep_pool *pool, const struct dep_queue_setup *setup);

/**
 * dep_queue_job() - allocate a job with @room bytes of data
 *
 * Return: NULL if there is no memory, or, for descriptors, if too many are queued: then the loop is
 * woken when there is room.
 */
struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room);
void dep_queue_put(struct dep_queue *q, struct dep_job *job);
/** dep_queue_cancel() - free a job that was not put */
void dep_queue_cancel(struct dep_queue *q, struct dep_job *job);
/** dep_queue_write_to() - set the writer if the queue was created without one; before any job */
void dep_queue_write_to(struct dep_queue *q, struct dep_writer *w);
/** dep_queue_wake() - wake the loop */
void dep_queue_wake(struct dep_queue *q);
/** dep_queue_stopped() - are chunks discarded from now on? */
bool dep_queue_stopped(struct dep_queue *q);
void dep_queue_stop(struct dep_queue *q);
bool dep_queue_failed(struct dep_queue *q);
u64 dep_queue_stored(struct dep_queue *q);
u64 dep_queue_scanned(struct dep_queue *q);
/**
 * dep_queue_mark() - queue a durable point each second, or after 64 MiB
 *
 * Call it in each pass of the loop.
 */
void dep_queue_mark(struct dep_queue *q);
/** dep_queue_drained() - are all jobs done? */
bool dep_queue_drained(struct dep_queue *q);
/** dep_queue_closed() - is DEP_JOB_CLOSE done? *ret: its result */
bool dep_queue_closed(struct dep_queue *q, int *ret);
const char *dep_queue_error(struct dep_queue *q);
/** dep_queue_drain() - wait until all jobs are done */
void dep_queue_drain(struct dep_queue *q);
/** dep_queue_ending() - if the store has failed, set that as the cause in @e */
void dep_queue_ending(struct dep_queue *q, struct dep_ending *e);
/** dep_queue_loss() - add what the queue has discarded */
void dep_queue_loss(struct dep_queue *q, struct dep_loss *loss);
/** dep_queue_free() - call it after dep_queue_drain() */
void dep_queue_free(struct dep_queue *q);

/**
 * dep_copy_upwards() - copy records in order of address
 *
 * An id is stored after its values and at a lower address, so a copied id has its values.
 */
void dep_copy_upwards(u8 *to, const u8 *from, size_t size);

#endif
