/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams and the merge's state: shared by merge.c, streams.c and the files of tail.h. */
#ifndef ADEPT_ANALYZE_MERGE_MERGE_H
#define ADEPT_ANALYZE_MERGE_MERGE_H

#include "libdep/recover/filter/filter.h"
#include "segments.h"

struct tail;

struct stream {
	const struct dep_thread *thread;
	/* the current segment or the next one; end of the table */
	const struct dep_segment *seg, *end;
	struct dep_filter *filter;		/* NULL: all references are emitted */
	/* items of the current segment; NULL: not begun */
	struct dep_segment_items *now;
	/* request for @seg, or for @seg + 1 if @now is set */
	void *asked;
	struct dep_segment_items *next;		/* result of @asked, taken early */
	size_t mark;				/* index of the current run in @now */
	size_t item;				/* next item to emit */
	bool begun;
	bool late;				/* the rest of the run is deferred to @key */
	uint64_t key;
	uint64_t next_seq;
	/* Used by the files of tail.h while the store grows. */
	struct dep_thread row;
	/* copy of the segment table, which @seg and @end point into */
	struct dep_segment *own;
	size_t nown, own_room;
	size_t row_at;			/* index in the store's threads; SIZE_MAX: not stored yet */
	uint32_t serial, slot;
	bool over;			/* no more segments come */
	bool done;			/* emitted completely */
	/* the beginning of the last call of @now has been emitted */
	bool entered;
	bool ends;			/* the process ended in such a call: nothing follows @now */
	uint64_t bound;			/* earliest timestamp at which it can continue, or 0 */
	uint64_t peek_ns;		/* do not read its ring before */
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
	struct tail *follower;		/* NULL: the store is complete */
	struct stream **grown;		/* streams of a growing store, sorted by serial */
	size_t ngrown;
};

static inline uint64_t stream_time(const struct stream *l)
{
	return l->key > l->bound ? l->key : l->bound;
}

/* ---- streams.c ---- */

/** merge_begin_stream() - make the filter of @l; before its first segment is loaded */
int merge_begin_stream(struct merge *m, struct stream *l);
/** merge_heap() - order all streams of the heap */
void merge_heap(struct merge *m);
/** merge_first_moved() - the first stream continues at another time: order the heap again */
void merge_first_moved(struct merge *m);
void merge_remove_first(struct merge *m);
/** stream_next_segment() - the segment after the current items, or NULL if none is stored */
const struct dep_segment *stream_next_segment(const struct stream *l);
/** stream_prefetch() - begin to load @seg of @l; returns a request for l->asked */
void *stream_prefetch(struct merge *m, struct stream *l, const struct dep_segment *seg);
/** stream_set_time() - continue at @timestamp; a lower one counts as disorder, 0 is ignored */
void stream_set_time(struct merge *m, struct stream *l, uint64_t timestamp);
/** stream_end() - free the filter of @l */
void stream_end(struct merge *m, struct stream *l);
/** merge_stream_free() - free the items, requests and filter of @l */
void merge_stream_free(struct merge *m, struct stream *l);

/* ---- tail.c ---- */

/** tail_open() - begin to follow a growing store; there are no streams yet */
int tail_open(struct merge *m, const struct dep_live_options *how);
/** tail_is_ready() - can the first stream take its next step? */
bool tail_is_ready(const struct merge *m);
/**
 * merge_wait() - wait for more of the store, or for progress of a sleeping thread
 *
 * When the store is complete this turns the streams into streams of a complete store and sets
 * m->follower to NULL.
 */
int merge_wait(struct merge *m);
/**
 * tail_poll() - check now and then whether the recording has ended
 *
 * A complete store can be loaded further ahead than a growing one.
 */
int tail_poll(struct merge *m);
/** tail_wait_complete() - wait until the store is complete; returns -ESTALE then */
int tail_wait_complete(struct merge *m);
/** merge_step_is_next() - note the step of @l; -ESTALE if it should have come earlier */
int merge_step_is_next(struct merge *m, const struct stream *l);
void tail_close(struct merge *m);

/* ---- prefix.c ---- */

/** tail_is_partial() - is @l at the end of a prefix whose segment is stored now? */
bool tail_is_partial(const struct stream *l);
/** tail_complete_segment() - replace the prefix by the stored segment */
int tail_complete_segment(struct merge *m, struct stream *l);

#endif
