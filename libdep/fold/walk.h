/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Delivers successive segments of one thread to folds. */
#ifndef ADEPT_FOLD_WALK_H
#define ADEPT_FOLD_WALK_H

#include <pthread.h>

#include "code.h"

/**
 * struct dep_walk - a walk through the segments of a store, and the folds that it serves
 * @part: a part of each fold
 * @columns: the current segment and the next one, which tells where an indirect branch went
 */
struct dep_walk {
	struct dep_store *store;
	const struct dep_code *code;
	const struct dep_numbers *numbers;
	const struct dep_fold *const *folds;
	void **part;
	size_t nfolds;
	const struct dep_segment *segments_end;	/* behind the last segment of the store */
	const struct dep_fold_options *options;
	pthread_mutex_t *lock;		/* held while failed() is called */
	struct dep_fold_loss loss;
	/* The following are private. */
	struct dep_columns columns[2];
	const struct dep_columns *now;
	const struct dep_columns *next;	/* NULL: not stored, or damaged */
	const struct dep_thread *thread;
	u32 exit[DEP_FOLD_BATCH];
	u32 nexits;
};

/**
 * dep_walk_run() - deliver @n successive segments of @thread
 * @follows: the segment in front of the first one was delivered before, or by another worker
 *
 * Return: 0, or what a callback returned.  A segment that cannot be read is no error.
 */
int dep_walk_run(struct dep_walk *w, const struct dep_thread *thread,
		 const struct dep_segment *seg, size_t n, bool follows);

void dep_walk_free(struct dep_walk *w);

#endif
