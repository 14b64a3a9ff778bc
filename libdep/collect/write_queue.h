/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queue of jobs from the collector's loop to the writer threads. Only writer threads call the
 * dep_writer. Jobs of a queue reach the store in their order.
 *
 * A chunk is not copied into its job. It stays in its ring until the store has it; then the job's
 * done() returns the memory. So a killed collector loses no chunk, and the size of the rings limits
 * the queue.
 */
#ifndef ADEPT_COLLECT_WRITE_QUEUE_H
#define ADEPT_COLLECT_WRITE_QUEUE_H

#include <stdbool.h>

#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"
#include "libdep/format/write/store_writer.h"

struct dep_kept_chunk;
struct dep_packed;
struct dep_queue;
struct dep_window;

enum dep_job_kind {
	DEP_JOB_PROCESS,
	DEP_JOB_PROCESS_END,
	DEP_JOB_THREAD,
	DEP_JOB_THREAD_END,
	DEP_JOB_DESCRIPTORS,
	DEP_JOB_SEGMENT,
	DEP_JOB_SCAN,		/* a segment from an unpublished chunk, whose end must be found */
	DEP_JOB_LOG,		/* call dep_writer_log() for descriptors at @body: a window's */
	DEP_JOB_MESSAGE,
	DEP_JOB_MARK,		/* call dep_writer_mark() */
	DEP_JOB_LAST,		/* call dep_writer_last() */
	DEP_JOB_SAVE_SCAN,	/* as DEP_JOB_SCAN, for a snapshot of a window only */
	DEP_JOB_SAVE_END,	/* as DEP_JOB_THREAD_END, for a snapshot of a window only */
	DEP_JOB_SAVE,		/* start the snapshot @owner of the window */
	DEP_JOB_TRIM_BEGIN,	/* dep_window_trim_begin() with the time @upto */
	DEP_JOB_TRIM_THREAD,	/* dep_window_trim_thread() */
	DEP_JOB_TRIM_END,	/* dep_window_trim_end() */
	DEP_JOB_NOTHING,	/* store nothing, only call done() */
	DEP_JOB_CLOSE,		/* call dep_writer_close(); must be the last job of the queue */
};

/** struct dep_job - one call of the writer */
struct dep_job {
	struct dep_job *next;
	enum dep_job_kind kind;
	u32 serial;		/* serial of the process or thread */
	size_t size;		/* number of valid bytes at @body or in @data */
	size_t room;		/* size of @data */
	const u8 *body;		/* the chunk's memory in the ring; NULL: the chunk is in @data */
	const struct dep_kept_chunk *kept;	/* not NULL: the chunk's body is in its file */
	/**
	 * @done: NULL, or called by a writer thread when the store has the job or has rejected it;
	 *	in the order of the queue and for one job at a time
	 */
	void (*done)(struct dep_job *job);
	/* The fields up to @upto are for done() only. */
	void *owner;
	u32 slot, dirty;
	u64 upto;
	/* The fields up to @tid_address are for a window (window.h). */
	/* the chunk is one of the last ones of this process; 0: other ones may follow */
	u32 last_of;
	u64 tid_address;	/* DEP_JOB_THREAD_END: as in struct adept_thread */
	/* The fields up to @why are used by the queue only. */
	struct dep_queue *queue;
	int state;
	int ret;		/* result of packing the chunk or admitting the descriptors */
	struct dep_packed *packed;
	char why[160];
	union {
		struct dep_process process;	/* its strings are NULL or point into @data */
		struct dep_thread thread;	/* its name is NULL or points into @data */
		struct adept_chunk chunk;
		struct dep_last last;		/* its table of threads is in @data */
		struct dep_ending close;
	};
	u8 data[];
};

/* ---- writer threads ---- */

struct dep_pool;

/* Stages of storing a chunk, whose times are counted separately. */
enum dep_stage { DEP_STAGE_COPY, DEP_STAGE_PACK, DEP_STAGE_WRITE, DEP_STAGES };

/** struct dep_pool_stats - statistics of a pool; times and chunks since its creation */
struct dep_pool_stats {
	u32 workers, busy;
	u32 jobs;			/* number of queued jobs, including those in progress */
	u64 stage_ns[DEP_STAGES], stage_chunks[DEP_STAGES];
};

/**
 * dep_pool_create() - start writer threads, for any number of queues
 * @workers: number of threads, at most 4; 0: one per processor. It does not change what is stored.
 */
struct dep_pool *dep_pool_create(u32 workers);
/** dep_pool_free() - end the threads and free @p; all its queues must have been freed */
void dep_pool_free(struct dep_pool *p);
void dep_pool_stats(struct dep_pool *p, struct dep_pool_stats *out);

/* ---- queues ---- */

/** struct dep_queue_setup - parameters of a queue */
struct dep_queue_setup {
	struct dep_writer *w;		/* NULL: nothing is stored */
	/* s->stop is set when the store fails or is full; s->wakeup wakes the loop */
	struct adept_session *s;
	u32 chunk_size;
	u64 max_size;			/* maximum bytes of the store; 0: no limit */
	/* keeps chunks and entries until dep_queue_end_window(); NULL: they are stored at once */
	struct dep_window *window;
};

struct dep_queue *dep_queue_create(struct dep_pool *pool, const struct dep_queue_setup *setup);

/**
 * dep_queue_job() - allocate a job with @room bytes of data
 *
 * Return: NULL without memory, or if too many descriptors are queued and @kind is
 * DEP_JOB_DESCRIPTORS: then the loop is woken when the queue has room.
 */
struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room);
void dep_queue_put(struct dep_queue *q, struct dep_job *job);
/** dep_queue_cancel() - free a job that was not passed to dep_queue_put() */
void dep_queue_cancel(struct dep_queue *q, struct dep_job *job);
/** dep_queue_write_to() - set the writer before the first job, if setup.w was NULL */
void dep_queue_write_to(struct dep_queue *q, struct dep_writer *w);
/** dep_queue_wake() - wake the collector's loop */
void dep_queue_wake(struct dep_queue *q);
/** dep_queue_stopped() - true if chunks are discarded: the store failed, is full or stopped */
bool dep_queue_stopped(struct dep_queue *q);
void dep_queue_stop(struct dep_queue *q);
bool dep_queue_failed(struct dep_queue *q);
/** dep_queue_store_failed() - the same, but not for a window that was too small (-E2BIG) */
bool dep_queue_store_failed(struct dep_queue *q);
u64 dep_queue_stored(struct dep_queue *q);
u64 dep_queue_scanned(struct dep_queue *q);
/**
 * dep_queue_mark() - queue a durable point (DEP_JOB_MARK) each second, or after 64 MiB
 *
 * Call it in each pass of the loop.
 */
void dep_queue_mark(struct dep_queue *q);
/**
 * dep_queue_end_window() - queue all that the window has
 * @why: when and why
 *
 * Waits until the jobs so far are done, but not for the store. Return: 0 or -ENOMEM.
 */
int dep_queue_end_window(struct dep_queue *q, const struct dep_kept *why);
/** dep_queue_drained() - true if all jobs are done */
bool dep_queue_drained(struct dep_queue *q);
/** dep_queue_closed() - true if DEP_JOB_CLOSE is done; *ret: result of dep_writer_close() */
bool dep_queue_closed(struct dep_queue *q, int *ret);
const char *dep_queue_error(struct dep_queue *q);
/** dep_queue_drain() - wait until all jobs are done */
void dep_queue_drain(struct dep_queue *q);
/** dep_queue_ending() - if writing the store failed, set cause and error in @e */
void dep_queue_ending(struct dep_queue *q, struct dep_ending *e);
/** dep_queue_loss() - add the bytes that the queue has discarded to @loss */
void dep_queue_loss(struct dep_queue *q, struct dep_loss *loss);
/** dep_queue_free() - free @q, whose jobs must be done: call dep_queue_drain() first */
void dep_queue_free(struct dep_queue *q);

/**
 * dep_copy_upwards() - copy records that a thread may be writing, in order of address
 *
 * A thread stores the id of a record after the record's values and at a lower address. So if the
 * copy has an id, it also has the values.
 */
void dep_copy_upwards(u8 *to, const u8 *from, size_t size);

#endif
