/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the merge and its following of a store that grows share. */
#ifndef ADEPT_ANALYZE_MERGE_MERGE_H
#define ADEPT_ANALYZE_MERGE_MERGE_H

#include "libdep/recover/filter/filter.h"
#include "segments.h"

struct follower;

struct lane {
	const struct dep_thread *thread;
	const struct dep_segment *seg, *end;	/* the one at hand or to come; behind the last */
	struct dep_filter *filter;		/* NULL: all references are shown */
	struct dep_loaded *now;			/* NULL: @seg has not been begun */
	void *asked;				/* the loading of @seg, or of @seg + 1 if @now.. */
	struct dep_loaded *next;		/* ..which may have come to this already */
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
	bool ends;			/* in such a call: nothing comes behind @now */
	uint64_t bound;			/* it does not go on before, or 0 */
	uint64_t peek_ns;		/* look at its ring not before */
};

struct merge {
	struct dep_store *store;
	const struct dep_analyzer *a;
	void *self;
	struct dep_loader *loader;
	struct dep_analysis *out;
	struct lane *lane;
	size_t nlanes;
	struct lane **heap;
	size_t nheap;
	struct follower *follower;	/* NULL: the store is complete */
	struct lane **grown;		/* the lanes that it made, by serial */
	size_t ngrown;
};

static inline uint64_t lane_when(const struct lane *l)
{
	return l->key > l->bound ? l->key : l->bound;
}

/** merge_begin_lane() - before its first segment is loaded */
int merge_begin_lane(struct merge *m, struct lane *l);
void merge_heap(struct merge *m);
void merge_pop(struct merge *m);
/** merge_ahead() - the segment behind the one at hand: to come, or NULL */
const struct dep_segment *merge_ahead(const struct lane *l);
/** merge_ask() - begin to load @seg, one of @l; for l->asked */
void *merge_ask(struct merge *m, struct lane *l, const struct dep_segment *seg);
/** merge_key() - it goes on at @ticket; never back, and 0 is not known */
void merge_key(struct merge *m, struct lane *l, uint64_t ticket);
/** merge_lane_free() - what @l has loaded */
void merge_lane_free(struct merge *m, struct lane *l);

/* ---- tail.c ---- */

/** merge_follow() - begin: there are no lanes yet */
int merge_follow(struct merge *m, const struct dep_beside *how);
/** merge_may_step() - is all there that the first lane's next step needs? */
bool merge_may_step(const struct merge *m);
/**
 * merge_wait() - for more of the store
 *
 * When that is complete lanes are as if they had been made from it, and there is no follower.
 */
int merge_wait(struct merge *m);
/**
 * merge_go_on() - now and then, look whether the recording is over
 *
 * Who is behind it loads what is there faster when it does not grow any more.
 */
int merge_go_on(struct merge *m);
/** merge_wait_out() - until the store is complete; -ESTALE then */
int merge_wait_out(struct merge *m);
/** merge_lacks_rest() - @l is at the end of what was there of a segment that is stored now */
bool merge_lacks_rest(const struct lane *l);
/** merge_install() - load that in its place */
int merge_install(struct merge *m, struct lane *l);
/** merge_step_is_next() - note the step of @l; -ESTALE: others should have come behind it */
int merge_step_is_next(struct merge *m, const struct lane *l);
void merge_unfollow(struct merge *m);

#endif
