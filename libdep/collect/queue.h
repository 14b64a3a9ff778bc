/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queue between the loop and the storing threads, which alone call the
 * dep_writer.  The store gets the jobs in the order they are put.
 */
#ifndef DEP_COLLECT_QUEUE_H
#define DEP_COLLECT_QUEUE_H

#include <stdbool.h>

#include <dep/store.h>

#include "../abi/descriptor.h"
#include "../abi/session.h"

struct dep_packed;

enum dep_job_kind {
	DEP_JOB_PROCESS,
	DEP_JOB_PROCESS_END,
	DEP_JOB_THREAD,
	DEP_JOB_THREAD_END,
	DEP_JOB_DESCRIPTORS,
	DEP_JOB_SEGMENT,
	DEP_JOB_SCAN,		/* a segment whose fill must be found first */
	DEP_JOB_NOTE,
};

/** struct dep_job - one call of the writer */
struct dep_job {
	struct dep_job *next;
	enum dep_job_kind kind;
	u32 serial;		/* of the process or thread */
	size_t size;		/* bytes of data */
	size_t room;		/* bytes that data has room for */
	/* of the queue */
	int state;
	int ret;		/* of packing or admitting */
	struct dep_packed *packed;
	char why[160];
	union {
		struct dep_process process;	/* exe is in data, or none */
		struct dep_thread thread;
		struct adept_chunk chunk;
	};
	u8 data[];
};

struct dep_queue;

/**
 * dep_queue_create() - begin the storing threads
 * @s: shared page: stop is set when the store fails or is full, doorbell rung when
 *	the queue has room again
 * @workers: threads, 4 at most; 0 = one per processor.  The store does not depend on it.
 */
struct dep_queue *dep_queue_create(struct dep_writer *w, struct adept_session *s, u32 chunk_size,
				   u64 max_size, u32 workers);

/**
 * dep_queue_job() - a job with room for @room bytes
 *
 * Chunks and descriptors are bounded: NULL if too much is waiting already (the
 * doorbell will ring) or memory is short.  Small jobs are NULL only for want of memory.
 */
struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room);
void dep_queue_put(struct dep_queue *q, struct dep_job *job);
/** dep_queue_cancel() - give back a job that was not put */
void dep_queue_cancel(struct dep_queue *q, struct dep_job *job);
/** dep_queue_stopped() - nothing more is kept: throw chunks away without queueing */
bool dep_queue_stopped(struct dep_queue *q);
void dep_queue_stop(struct dep_queue *q);
bool dep_queue_failed(struct dep_queue *q);
u64 dep_queue_stored(struct dep_queue *q);
u64 dep_queue_scanned(struct dep_queue *q);
const char *dep_queue_error(struct dep_queue *q);
/** dep_queue_finish() - do what is left and end the thread; the queue stays readable */
void dep_queue_finish(struct dep_queue *q);
/** dep_queue_loss() - add what the queue threw away or found bad */
void dep_queue_loss(struct dep_queue *q, struct dep_loss *loss);
void dep_queue_free(struct dep_queue *q);

#endif
