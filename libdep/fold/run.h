/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pass of folds over some segments of a store. */
#ifndef ADEPT_FOLD_RUN_H
#define ADEPT_FOLD_RUN_H

#include "dep/fold.h"
#include "libdep/abi/types.h"

/**
 * struct dep_fold_batch - the segments of a pass, sorted by thread and number
 * @deliver: for each segment, if it is delivered; NULL: all are.  Others only show what stands in
 *	front of the delivered ones, and behind them
 */
struct dep_fold_batch {
	const struct dep_segment *seg;
	size_t n;
	const bool *deliver;
};

/**
 * dep_fold_pass() - as dep_fold_run(), over the segments of @batch
 *
 * Two passes that deliver the segments of a thread one after another give the same result as one
 * pass, if each batch has the segment in front of those that it delivers and the one behind them.
 */
int dep_fold_pass(struct dep_store *store, const struct dep_fragments *code,
		  const struct dep_fold_batch *batch, const struct dep_fold *const *folds,
		  void *const *selves, size_t n, const struct dep_fold_options *options,
		  struct dep_fold_loss *loss);

#endif
