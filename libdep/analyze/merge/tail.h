/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The merge of a growing store: shared by tail.c, prefix.c and growing.c. */
#ifndef ADEPT_ANALYZE_MERGE_TAIL_H
#define ADEPT_ANALYZE_MERGE_TAIL_H

#include <time.h>

#include "libdep/collect/snapshot.h"
#include "merge.h"

#define TAIL_MS		1000000ull	/* nanoseconds */

/** struct tail - a store that grows; made by tail_open(), used by the thread that merges */
struct tail {
	struct dep_live_options how;
	struct dep_snapshot *peek;
	struct dep_columns columns;
	/* segments and threads of the store that have been added to streams */
	size_t nsegs, nrows;
	/* lower bound: threads that have no stream yet begin after this timestamp */
	uint64_t now;
	uint64_t last;			/* timestamp of the last step */
	unsigned int ms;		/* timeout of the next wait */
	uint64_t asked_ns;		/* last check whether the recording has ended */
	unsigned int steps;		/* number of steps: every STEPS-th reads the clock */
};

static inline uint64_t tail_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- growing.c ---- */

/** tail_stale() - set the error message @why about the thread of @l; returns -ESTALE */
int tail_stale(const struct stream *l, const char *why);
/** tail_ask_ahead() - load the next stored segment of @l ahead, and drop a prefix not in use */
void tail_ask_ahead(struct merge *m, struct stream *l);
/** tail_take_threads() - make the streams of new threads of the store, and update all rows */
int tail_take_threads(struct merge *m);
/** tail_drop_empty() - remove threads that ended without a segment */
void tail_drop_empty(struct merge *m);
/** tail_look() - add new segments and threads of the store and session file; order the heap */
int tail_look(struct merge *m);

/* ---- prefix.c ---- */

/** tail_peek() - read the ring of @l: replace its prefix by a longer one, or begin with one */
int tail_peek(struct merge *m, struct stream *l);
/** tail_has_ended() - true if @l ends with its current segment, without a gap before its end */
bool tail_has_ended(const struct stream *l);

#endif
