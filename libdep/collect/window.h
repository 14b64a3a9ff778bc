/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The newest chunks of a recording with --last, not packed: in memory, or on the disk
 * (window_disk.h).
 *
 *	ring --copy--> window --at the end--> queue --pack--> store
 *	                 |
 *	                 v oldest chunks are dropped: too many bytes, or too old
 *
 * Chunks are ordered by the time at which they were added, over all threads. A thread's ring is
 * emptied in order, so what is kept of a thread has no gap, and everything that was recorded after
 * the last dropped chunk was added is kept.
 *
 * Entries of processes and threads wait in the window, too, and so do descriptors. An ended thread
 * of which no chunk is left is forgotten, and so are its process and the descriptors of that.
 * Descriptors of a process that goes on are dropped when nothing needs them any more (trim.h).
 * Entries and descriptors count in the bound, but leave a part of it to chunks.
 *
 * A snapshot shares the chunks and descriptors with the window (dep_window_save()): they are freed
 * when neither has them any more.
 *
 * One thread at a time may use a window; see queue_put.c.
 */
#ifndef ADEPT_COLLECT_WINDOW_H
#define ADEPT_COLLECT_WINDOW_H

#include "kept_chunk.h"
#include "kept_descriptors.h"
#include "trim.h"
#include "write_queue.h"

struct dep_store_dir;
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
/** dep_window_free() - free @w, and remove its files */
void dep_window_free(struct dep_window *w);

/**
 * dep_window_to_disk() - keep the chunks of an empty window in files of a store's directory
 * @at: copied; @w owns the descriptor, also after an error
 *
 * A copy of all else goes to a file, so that others can store the window if the collector is
 * killed. Return: 0 or a negative errno after dep_fail().
 */
int dep_window_to_disk(struct dep_window *w, const struct dep_store_dir *at);
/**
 * dep_window_max_memory() - limit the memory that an empty window on the disk takes
 *
 * It is for descriptors, entries, and what is in memory of each chunk; a part is left to chunks as
 * in a window in memory. Without a limit descriptors may have as many bytes as the files.
 */
void dep_window_max_memory(struct dep_window *w, u64 bytes);
/** dep_window_keep_files() - let dep_window_free() leave the files of a window on the disk */
void dep_window_keep_files(struct dep_window *w);
/** dep_window_limit() - maximum bytes, fewer than asked for if the disk was full; any thread */
u64 dep_window_limit(const struct dep_window *w);

/**
 * dep_window_entry() - keep a copy of @job, the begin or end of a process or thread
 *
 * Return: as dep_window_descriptors().
 */
int dep_window_entry(struct dep_window *w, const struct dep_job *job);

/**
 * dep_window_descriptors() - keep a copy of whole, checked descriptors
 * @index_bytes: memory that the writer's index of fragments has now
 *
 * Return: 0; -E2BIG: more descriptors and entries are needed than the bound allows; -ENOMEM.
 */
int dep_window_descriptors(struct dep_window *w, u32 process, const u8 *data, size_t size,
			   u64 index_bytes);

/** dep_window_wants_trim() - are there enough descriptors to drop? Any thread may ask */
bool dep_window_wants_trim(const struct dep_window *w);
/**
 * dep_window_trim_begin() - begin to drop descriptors that nothing needs; see trim.h
 * @ns: time before all threads were listed that dep_window_trim_thread() may be called for
 */
int dep_window_trim_begin(struct dep_window *w, u64 ns, const struct dep_trim_ops *ops);
/**
 * dep_window_trim_thread() - a thread was in a system call at time @job->upto
 * @job: serial of the thread, and a copy of its unfinished chunk
 */
void dep_window_trim_thread(struct dep_window *w, const struct dep_job *job);
/**
 * dep_window_trim_end() - when all threads were looked at: drop descriptors
 *
 * Return: 0; with a window on the disk also a negative errno after dep_fail().
 */
int dep_window_trim_end(struct dep_window *w);

/**
 * dep_window_chunk() - add the chunk of @job, and drop the oldest chunks beyond the bounds
 * @now: the present time; not earlier than in the last call
 *
 * Chunks with the same @job->last_of as the chunk before do not count in the bound of bytes: they
 * are the last ones of the same process.
 *
 * Return: 0; -ENOMEM; with a window on the disk also another negative errno after dep_fail().
 */
int dep_window_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now);

/** dep_window_expire() - drop chunks that are too old at @now */
void dep_window_expire(struct dep_window *w, struct dep_moment now);

/** dep_window_is_empty() - true if it has no chunk, or has put all of them into a queue */
bool dep_window_is_empty(const struct dep_window *w);

/** dep_window_bytes() - bytes of chunks in the window; any thread may ask */
u64 dep_window_bytes(const struct dep_window *w);

/**
 * dep_window_descriptor_bytes() - bytes of descriptors, of their index, and of the entries of
 * processes and threads; any thread may ask
 */
u64 dep_window_descriptor_bytes(const struct dep_window *w);

/** dep_window_reason() - say why the window will be stored, before dep_window_empty() */
void dep_window_reason(struct dep_window *w, const struct dep_kept *kept);

/** dep_window_dropped() - fill in what was dropped so far, without the table of threads */
void dep_window_dropped(const struct dep_window *w, struct dep_last *out);

/**
 * dep_window_empty() - put all jobs that store the window's contents into @q
 *
 * All earlier jobs of @q must be done. The window is empty afterwards; the jobs own its memory.
 * Return: 0 or -ENOMEM.
 */
int dep_window_empty(struct dep_window *w, struct dep_queue *q);

/**
 * struct dep_saved - what a window had at one moment
 * @begin, @end: copies of jobs: first those of processes, then of threads; and the other way round
 * @chunk: in the order of each thread; NULL: the owner of this structure has dropped it
 * @last: its table of threads is allocated
 */
struct dep_saved {
	struct dep_job **begin, **end;
	size_t nbegin, nend;
	struct dep_kept_chunk **chunk;
	size_t nchunks;
	struct dep_batches descriptors;
	struct dep_last last;
};

/** dep_window_save_chunk() - add a chunk that only the next snapshot has; 0 or -ENOMEM */
int dep_window_save_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now);
/** dep_window_save_end() - add the end of a stream that only the next snapshot has; 0 or -ENOMEM */
int dep_window_save_end(struct dep_window *w, const struct dep_job *job);
/** dep_window_save() - make a snapshot, with references to what the window has; 0 or -ENOMEM */
int dep_window_save(struct dep_window *w, struct dep_saved *out);
void dep_saved_free(struct dep_saved *s);

#endif
