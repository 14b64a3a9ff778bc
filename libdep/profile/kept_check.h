/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_PROFILE_KEPT_CHECK_H
#define ADEPT_PROFILE_KEPT_CHECK_H

#include "kept.h"

/**
 * dep_kept_counts_fit() - can a pass over @store have made these counters?
 *
 * Numbers of exits, fragments, files, processes and threads exist, rows are sorted where
 * dep_rows_make() needs that, and exits, threads and segments have the same instructions.
 */
bool dep_kept_counts_fit(const struct dep_kept_counts *k, struct dep_store *store,
			 const struct dep_fragments *code);

#endif
