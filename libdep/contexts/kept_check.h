/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_CONTEXTS_KEPT_CHECK_H
#define ADEPT_CONTEXTS_KEPT_CHECK_H

#include "kept.h"

/**
 * dep_kept_contexts_fit() - can a pass over @store have made these contexts?
 * @times: rows of time were made
 *
 * They are a tree in preorder, whose children are sorted.  Processes, threads and files exist.  The
 * rows of threads are sorted, and add up to the contexts.  The rows of time are sorted, and add up
 * to those of threads.  No sum overflows.
 */
bool dep_kept_contexts_fit(const struct dep_contexts *c, struct dep_store *store, bool times);

#endif
