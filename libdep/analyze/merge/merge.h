/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the merge and its following of a store that grows share. */
#ifndef ADEPT_ANALYZE_MERGE_MERGE_H
#define ADEPT_ANALYZE_MERGE_MERGE_H

#include "libdep/recover/filter/filter.h"
#include "segments.h"

struct tail;

struct stream {
	const struct dep_thread *thread;
	const struct dep_segment *seg, *end;	/* the one at hand or to come; after the last */
	struct dep_filter *filter;		/* NULL: all references are shown */
	struct dep_segment_items *now;			/* NULL: @seg has not been begun */
	void *asked;				/* the loading of @seg, or of @seg + 1 if @now.. */
	struct dep_segment_items *next;		/* ..which may have come to this already */
	size_t mark;				/* of @now: the run at hand.. */
	size_t item;				/* ..and how far it has been shown */
	bool begun;
	bool late;				/* its rest was put off to @key */
	uint64_t key;
	uint64_t next_seq;
	/* While the store grows: tail.c */
	struct dep_thread row;
	struct dep_segment *own;	/* what @seg and @end point into */
	size_t nown, own_room;
	size_t row_at;			/* of the store's threads; SIZE_MAX: not there yet */
	uint32_t serial, slot;
	bool over;			/* no more segments come */
	bool done;			/* shown to its end */
	bool entered;			/* the call that @now ends in has been shown to begin */
	bool ends;			/* in such a call: nothing comes after @now */
	uint64_t bound;			/* it does not go on before, or 0 */
	uint64_t peek_ns;		/* look at its ring not before */
};

struct merge {
	struct dep_store *store;
	const struct dep_analyzer *a;
	void *self;
	struct dep_loader *loader;
	struct dep_analysis *out;
	struct stream *stream;
	size_t nlanes;
	struct stream **heap;
	size_t nheap;
	struct tail *follower;	/* NULL: the store is complete */
	struct stream **grown;		/* the streams that it made, by serial */
	size_t ngrown;
};

static inline uint64_t stream_time(const struct stream *l)
{
	return l->key > l->bound ? l->key : l->bound;
}

/** merge_begin_stream() - before its first segment is loaded */
int merge_begin_stream(struct merge *m, struct stream *l);
void merge_heap(struct merge *m);
void merge_remove_first(struct merge *m);
/** stream_next_segment() - the segment after the one at hand: to come, or NULL */
const struct dep_segment *stream_next_segment(const struct stream *l);
/** stream_prefetch() - begin to load @seg, one of @l; for l->asked */
void *stream_prefetch(struct merge *m, struct stream *l, const struct dep_segment *seg);
/** stream_set_time() - it goes on at @timestamp; never back, and 0 is not known */
void stream_set_time(struct merge *m, struct stream *l, uint64_t timestamp);
/** merge_stream_free() - what @l has loaded */
void merge_stream_free(struct merge *m, struct stream *l);

/* ---- tail.c ---- */

/** tail_open() - begin: there are no streams yet */
int tail_open(struct merge *m, const struct dep_live_options *how);
/** tail_is_ready() - is all there that the first stream's next step needs? */
bool tail_is_ready(const struct merge *m);
/**
 * merge_wait() - for more of the store
 *
 * When that is complete streams are as if they had been made from it, and there is no follower.
 */
int merge_wait(struct merge *m);
/**
 * tail_poll() - now and then, look whether the recording is over
 *
 * Who is after it loads what is there faster when it does not grow any more.
 */
int tail_poll(struct merge *m);
/** tail_wait_complete() - until the store is complete; -ESTALE then */
int tail_wait_complete(struct merge *m);
/** tail_is_partial() - @l is at the end of what was there of a segment that is stored now */
bool tail_is_partial(const struct stream *l);
/** tail_complete_segment() - load that in its place */
int tail_complete_segment(struct merge *m, struct stream *l);
/** merge_step_is_next() - note the step of @l; -ESTALE: others should have come after it */
int merge_step_is_next(struct merge *m, const struct stream *l);
void tail_close(struct merge *m);

#endif
