/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Delivers successive segments of one thread to folds. */
#ifndef ADEPT_FOLD_WALK_H
#define ADEPT_FOLD_WALK_H

#include <pthread.h>

#include "code.h"
#include "sequences.h"

/**
 * struct dep_walk - a walk through the segments of a store, and the folds that it serves
 * @part: a part of each fold
 * @sequences, @scan: made by the caller; @sequences.n is 0 if no fold needs them
 * @columns: the current segment and the next one, which tells where an indirect branch went
 */
struct dep_walk {
	struct dep_store *store;
	const struct dep_fragments *code;
	const struct dep_numbers *numbers;
	const struct dep_fold *const *folds;
	void **part;
	size_t nfolds;
	const struct dep_segment *segments_end;	/* behind the last segment that is known */
	const struct dep_fold_options *options;
	pthread_mutex_t *lock;		/* held while failed() is called */
	struct dep_fold_loss loss;
	struct dep_sequences sequences;
	struct dep_scan *scan;		/* of a fold with marked(); NULL: none */
	/* The following are private. */
	struct dep_columns columns[2];
	const struct dep_columns *now;
	const struct dep_columns *next;	/* NULL: not stored, or damaged */
	const struct dep_thread *thread;
	u32 exit[DEP_FOLD_BATCH];
	u32 nexits;
	u32 sequence[DEP_FOLD_BATCH / DEP_FOLD_SEQUENCE];
	bool follows;			/* no segment is missing in front of the current one */
	bool is_damaged;		/* the last error is that of a column */
};

/**
 * enum dep_walk_from - what stands in front of the segments of a walk
 *
 * The places where segments are missing are the same, however a thread is divided into walks.
 */
enum dep_walk_from {
	DEP_WALK_FIRST,		/* no segment of the thread in this pass */
	DEP_WALK_FOLLOWS,	/* the segment before, delivered by this worker or by another one */
	DEP_WALK_BEHIND_GAP,	/* an earlier segment, which has ended with a gap */
};

/**
 * dep_walk_run() - deliver @n successive segments of @thread
 *
 * Return: 0, or what a callback returned.  A segment that cannot be read is no error.
 */
int dep_walk_run(struct dep_walk *w, const struct dep_thread *thread,
		 const struct dep_segment *seg, size_t n, enum dep_walk_from from);

/* ---- for scan.c ---- */

/* Position in a control column. */
struct dep_cursor {
	const u32 *at, *end;
};

/** dep_walk_payload() - words of the payload of event @id at @c; 0: unknown, or it does not fit */
u32 dep_walk_payload(const struct dep_cursor *c, u32 id);
/** dep_walk_goes_on() - where the thread goes on behind exit @number, with the stream at @c */
u64 dep_walk_goes_on(const struct dep_walk *w, u32 number, const struct dep_cursor *c);
/** dep_walk_damaged() - fail because of the column, not because of a fold */
int dep_walk_damaged(struct dep_walk *w, const char *why, u32 id);

/* ---- scan.c ---- */

/** dep_scan_new() - what a fold with marked() needs, once @w has its part; NULL: no memory */
struct dep_scan *dep_scan_new(const struct dep_walk *w);
/** dep_scan_column() - deliver a control column to it; 0 or an error as of the other folds */
int dep_scan_column(struct dep_walk *w, struct dep_cursor *c);

/* Bytes of the control columns of a unit of work, more or less; tests make it small. */
extern u64 dep_fold_unit_bytes;

void dep_walk_free(struct dep_walk *w);

#endif
