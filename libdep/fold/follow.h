/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fold a store that grows, reading each segment once.
 *
 * What a segment means for a fold depends on the thread's next one: where an indirect branch went,
 * and whether the record at its end goes on.  So a segment is folded for good when the next one of
 * its thread is known, or the store is complete.
 */
#ifndef ADEPT_FOLD_FOLLOW_H
#define ADEPT_FOLD_FOLLOW_H

#include "libdep/format/read/store.h"
#include "run.h"

struct dep_fold_follow;

/**
 * dep_fold_follow_new() - begin to follow @store
 * @store: opened by dep_store_open_growing(); it and @code must exist as long as the result
 * @options: NULL: the defaults
 *
 * Return: NULL without memory; dep_fold_follow_free() takes that, too.
 */
struct dep_fold_follow *dep_fold_follow_new(struct dep_store *store,
					    const struct dep_fragments *code,
					    const struct dep_fold_options *options);
void dep_fold_follow_free(struct dep_fold_follow *f);

/**
 * dep_fold_follow_more() - fold what has been added to the store, except for each thread's end
 * @fold: not ordered
 * @complete: dep_store_finish_tail() was called
 *
 * Call it after dep_store_grow() and dep_code_grow().
 *
 * Return: 0, what a callback returned, or a negative errno.  -ESTALE: the segments are not in the
 * order in which they were expected, or what was folded is not as in the complete store.  The
 * caller begins anew, with a new object and another @self.
 */
int dep_fold_follow_more(struct dep_fold_follow *f, const struct dep_fold *fold, void *self,
			 bool complete);

/**
 * dep_fold_follow_rest() - fold the ends of all threads, as if the store were complete
 * @self: another one than that of dep_fold_follow_more(), which is called again later
 * @loss: of all segments up to now
 *
 * Together the two selves have what dep_fold_run() gives for the store as it is now.
 */
int dep_fold_follow_rest(struct dep_fold_follow *f, const struct dep_fold *fold, void *self,
			 struct dep_fold_loss *loss);

#endif
