/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by window.c and window_*.c only: the contents of a window. */
#ifndef ADEPT_COLLECT_WINDOW_PARTS_H
#define ADEPT_COLLECT_WINDOW_PARTS_H

#include "window.h"

/*
 * Entry of a process or thread in a list sorted by serial. A process is held by its threads and by
 * the processes that it forked, which have its mappings.
 */
struct entry {
	u32 serial;
	u32 owner;		/* of a thread: its process; of a process: the one that forked it */
	u64 holders;		/* of a thread: its chunks; of a process: entries with this owner */
	struct dep_job *begin, *end;
	/* The following fields are for threads. */
	struct dep_last_thread last;
	u64 chunks, bytes;	/* that were added, with a window on the disk */
	u64 dropped_ns;		/* when the last chunk that was dropped had begun; 0: none */
	/* During a trim: when its oldest chunk, and the one before the next one, began. */
	u64 oldest_ns, before_ns;
	u64 idle_ns;		/* during a trim: when it was in a system call */
};

struct entries {
	struct entry *row;
	size_t n, room;
	u64 bytes;		/* memory of all rows and their jobs */
};

/* What a snapshot has besides what the window keeps: of threads that go on. */
struct saving {
	struct dep_kept_chunk *first, **last;	/* their unfinished chunks */
	struct dep_job **end;			/* how their streams end */
	size_t nend, room;
	size_t nchunks;
	bool failed;				/* there was no memory */
};

struct dep_window {
	u64 max_bytes, max_ns;
	struct dep_kept_chunk *oldest, **newest;
	size_t nchunks;
	u64 bytes;		/* of all chunks */
	/* bytes for a full chunk; such memory is used again, since new memory costs page faults */
	size_t block;
	struct dep_kept_chunk *spare;
	u32 nspare;
	u32 last_of;		/* as in the job of the newest chunk */
	u64 index_bytes;	/* of the writer's index, when descriptors came last */
	u64 descriptor_bytes;	/* of @descriptors, @fates, that index, @processes and @threads */
	u64 last_bytes;		/* of the newest chunks, with that @last_of: not in the bound */
	struct entries processes, threads;
	struct dep_batches descriptors;
	struct dep_fates fates;
	struct dep_trim *trim;
	bool wants_trim;
	struct dep_last dropped;
	struct saving saving;
	struct dep_disk *disk;	/* NULL: the chunks are in memory */
};

/* ---- window.c ---- */

/** dep_window_copy_chunk() - a copy of the chunk of @job, or NULL without memory */
struct dep_kept_chunk *dep_window_copy_chunk(struct dep_window *w, const struct dep_job *job,
					     struct dep_moment now);
/**
 * dep_window_count_descriptors() - bring @w->descriptor_bytes up to date
 *
 * Return: 0; -E2BIG: they are more than the bound allows.
 */
int dep_window_count_descriptors(struct dep_window *w);
/** dep_window_least() - bytes that chunks may have in any case, of the bound @bytes */
u64 dep_window_least(const struct dep_window *w, u64 bytes);
/** dep_window_fit() - drop the oldest chunks until there is room for @more bytes, or none left */
void dep_window_fit(struct dep_window *w, u64 more);
/** dep_window_append() - add a chunk as the newest one; @w owns the reference */
void dep_window_append(struct dep_window *w, struct dep_kept_chunk *k);
/** dep_window_drop_oldest() - drop the oldest chunk, of which there must be one */
void dep_window_drop_oldest(struct dep_window *w);

/* ---- window_entries.c ---- */

struct entry *dep_entries_find(const struct entries *e, u32 serial);
void dep_entries_free(struct entries *e);
/** dep_window_release_thread() - forget a thread that has ended and of which no chunk is left */
void dep_window_release_thread(struct dep_window *w, struct entry *t);
/** dep_job_copy() - a copy that is in no queue; NULL without memory */
struct dep_job *dep_job_copy(const struct dep_job *from);

/* ---- window_end.c ---- */

/** dep_window_fill_dropped() - fill in what was dropped, and the table @t of all threads */
void dep_window_fill_dropped(const struct dep_window *w, struct dep_last *last,
			     struct dep_last_thread *t);

/* ---- window_save.c ---- */

/** dep_window_clear_saving() - forget what was collected for a snapshot and is not in it */
void dep_window_clear_saving(struct saving *s);

#endif
