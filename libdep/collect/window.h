/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The newest chunks of a recording with --last, in memory and not packed.
 *
 *	ring --copy--> window --at the end--> queue --pack--> store
 *	                 |
 *	                 v oldest chunks are dropped: too many bytes, or too old
 *
 * Chunks are ordered by the time at which they were added, over all threads. A thread's ring is
 * emptied in order, so what is kept of a thread has no gap, and everything that was recorded after
 * the last dropped chunk was added is kept.
 *
 * Entries of processes and threads wait in the window, too. An ended thread of which no chunk is
 * left is forgotten, and so is its process. Descriptors do not wait: they go to the store at once.
 *
 * One thread at a time may use a window; see write_queue.c.
 */
#ifndef ADEPT_COLLECT_WINDOW_H
#define ADEPT_COLLECT_WINDOW_H

#include "write_queue.h"

struct dep_window;

/**
 * dep_window_new() - make an empty window
 * @bytes: maximum bytes of chunks with their headers
 * @ns: maximum time since a chunk was added; 0: no limit
 * @chunk_size: bytes of a full chunk
 *
 * Return: NULL without memory.
 */
struct dep_window *dep_window_new(u64 bytes, u64 ns, u32 chunk_size);
void dep_window_free(struct dep_window *w);

/** dep_window_entry() - keep a copy of @job, the begin or end of a process or thread */
int dep_window_entry(struct dep_window *w, const struct dep_job *job);

/** struct dep_moment - one moment in the time of the monotonic clock and in TSC ticks */
struct dep_moment {
	u64 ns, timestamp;
};

/**
 * dep_window_chunk() - add the chunk of @job, and drop the oldest chunks beyond the bounds
 * @now: the present time; not earlier than in the last call
 *
 * Chunks with the same @job->last_of as the chunk before do not count in the bound of bytes: they
 * are the last ones of the same process.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_window_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now);

/** dep_window_expire() - drop chunks that are too old at @now */
void dep_window_expire(struct dep_window *w, struct dep_moment now);

/** dep_window_bytes() - bytes of chunks in the window; any thread may ask */
u64 dep_window_bytes(const struct dep_window *w);

/** dep_window_dropped() - fill in what was dropped so far, without the table of threads */
void dep_window_dropped(const struct dep_window *w, struct dep_last *out);

/**
 * dep_window_empty() - put all jobs that store the window's contents into @q
 *
 * All earlier jobs of @q must be done. The window is empty afterwards; the jobs own its memory.
 * Return: 0 or -ENOMEM.
 */
int dep_window_empty(struct dep_window *w, struct dep_queue *q);

#endif
