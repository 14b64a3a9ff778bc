/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The merge and its streams: shared by merge.c, streams.c, tail.c, prefix.c and growing.c. */
#ifndef ADEPT_ANALYZE_MERGE_MERGE_H
#define ADEPT_ANALYZE_MERGE_MERGE_H

#include "libdep/recover/filter/filter.h"
#include "segments.h"

struct tail;

struct stream {
	const struct dep_thread *thread;
	/* @seg: the current segment (with @now) or the next one; @end: after the last one */
	const struct dep_segment *seg, *end;
	struct dep_filter *filter;		/* NULL: emit all references */
	/* items of the current segment; NULL: @seg has not been begun */
	struct dep_segment_items *now;
	/* request to load @seg, or @seg + 1 if @now is set; NULL: none */
	void *asked;
	/* the stream's next items: a loaded segment, or a prefix (prefix.c); NULL: not loaded */
	struct dep_segment_items *next;
	size_t mark;				/* index of the current run in now->mark */
	size_t item;				/* index of the next item to emit in @now */
	bool begun;
	/* true: the analyzer deferred the remaining items of the run; they follow at time @key */
	bool late;
	uint64_t key;
	uint64_t next_seq;
	/* The fields from here on are used while the store grows (tail.h). */
	struct dep_thread row;
	/* copy of the thread's part of the segment table; @seg and @end point into it */
	struct dep_segment *own;
	size_t nown, own_room;
	/* index in the store's table of threads; SIZE_MAX: not stored yet */
	size_t row_at;
	uint32_t serial, slot;
	bool over;			/* the store has all segments of the thread */
	bool done;			/* all items of the thread have been emitted */
	/* @now is a prefix (prefix.c), and the beginning of its last system call was emitted */
	bool entered;
	/* the process ended in the system call at the end of @now: nothing follows */
	bool ends;
	/* earliest timestamp at which the thread can continue, or 0 */
	uint64_t bound;
	uint64_t peek_ns;		/* CLOCK_MONOTONIC ns at which the ring may be read again */
};

struct merge {
	struct dep_store *store;
	const struct dep_analyzer *a;
	void *self;
	struct dep_loader *loader;
	struct dep_analysis *out;
	struct stream *stream;
	size_t nstreams;
	struct stream **heap;
	size_t nheap;
	struct tail *follower;		/* state of live analysis; NULL: the store is complete */
	struct stream **grown;		/* streams of a growing store, sorted by serial */
	size_t ngrown;
};

static inline uint64_t stream_time(const struct stream *l)
{
	return l->key > l->bound ? l->key : l->bound;
}

/* ---- streams.c ---- */

/** merge_begin_stream() - make the filter of @l; call it before the first segment is loaded */
int merge_begin_stream(struct merge *m, struct stream *l);
/** merge_heap() - restore the heap order after any streams changed */
void merge_heap(struct merge *m);
/** merge_first_moved() - restore the heap order after the time of the first stream changed */
void merge_first_moved(struct merge *m);
void merge_remove_first(struct merge *m);
/** stream_next_segment() - get the segment after the items in l->now; NULL: none is stored yet */
const struct dep_segment *stream_next_segment(const struct stream *l);
/** stream_prefetch() - begin to load @seg of @l; returns the request, for l->asked */
void *stream_prefetch(struct merge *m, struct stream *l, const struct dep_segment *seg);
/**
 * stream_set_time() - continue @l at @timestamp; 0 is ignored, a lower one is counted as disorder
 */
void stream_set_time(struct merge *m, struct stream *l, uint64_t timestamp);
/** stream_end() - free the filter of @l */
void stream_end(struct merge *m, struct stream *l);
/** merge_stream_free() - free the items, requests and filter of @l */
void merge_stream_free(struct merge *m, struct stream *l);

/* ---- tail.c ---- */

/** tail_open() - begin to follow a growing store; there are no streams yet */
int tail_open(struct merge *m, const struct dep_live_options *how);
/** tail_is_ready() - can the first stream of the heap take its next step? */
bool tail_is_ready(const struct merge *m);
/**
 * merge_wait() - wait for new data in the store, or for a thread in a system call to continue
 *
 * When the store is complete, this turns the streams into those of a complete store and sets
 * m->follower to NULL.
 */
int merge_wait(struct merge *m);
/**
 * tail_poll() - at intervals, check whether the recording has ended; if so, switch to the complete
 * store, whose segments can be loaded further ahead
 */
int tail_poll(struct merge *m);
/** tail_wait_complete() - wait until the store is complete; returns -ESTALE, or another error */
int tail_wait_complete(struct merge *m);
/**
 * merge_step_is_next() - store the time of the next step, which @l takes; -ESTALE if a later step
 * has been taken, or if the thread goes on after its end
 */
int merge_step_is_next(struct merge *m, const struct stream *l);
void tail_close(struct merge *m);

/* ---- prefix.c ---- */

/** tail_is_partial() - is @l at the end of a prefix, and has its whole segment been stored? */
bool tail_is_partial(const struct stream *l);
/** tail_complete_segment() - replace the prefix of @l by the stored segment */
int tail_complete_segment(struct merge *m, struct stream *l);

#endif
