/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Live analysis, the merge of a growing store: shared by tail.c, prefix.c and growing.c. */
#ifndef ADEPT_ANALYZE_MERGE_TAIL_H
#define ADEPT_ANALYZE_MERGE_TAIL_H

#include <time.h>

#include "libdep/collect/snapshot.h"
#include "merge.h"

#define TAIL_MS		1000000ull	/* nanoseconds in a millisecond */

/** struct tail - state of live analysis; made by tail_open(), used by the merging thread only */
struct tail {
	struct dep_live_options how;
	struct dep_snapshot *peek;
	struct dep_columns columns;
	/* number of segments and threads of the store that have been added to streams */
	size_t nsegs, nrows;
	/* threads that have no stream yet begin after this timestamp */
	uint64_t now;
	uint64_t last;			/* timestamp of the merge's last step */
	unsigned int ms;		/* timeout of the next wait, in milliseconds */
	/* CLOCK_MONOTONIC of the last check for the recording's end */
	uint64_t asked_ns;
	unsigned int steps;		/* number of steps taken; every STEPS-th reads the clock */
};

static inline uint64_t tail_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- growing.c ---- */

/** tail_stale() - set the error message to @why, with the thread of @l; returns -ESTALE */
int tail_stale(const struct stream *l, const char *why);
/** tail_ask_ahead() - request the next segment of @l, and free its prefix if that was not begun */
void tail_ask_ahead(struct merge *m, struct stream *l);
/** tail_take_threads() - make streams for new threads of the store, and update all streams' rows */
int tail_take_threads(struct merge *m);
/** tail_drop_empty() - remove streams without anything left to emit from the heap */
void tail_drop_empty(struct merge *m);
/** tail_look() - add new segments and threads of the store and session file, and order the heap */
int tail_look(struct merge *m);

/* ---- prefix.c ---- */

/** tail_peek() - read the ring of @l's thread, for a first prefix or a longer one */
int tail_peek(struct merge *m, struct stream *l);
/** tail_has_ended() - does the thread end after the current segment, without missing records? */
bool tail_has_ended(const struct stream *l);

#endif
