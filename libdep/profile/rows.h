/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of instructions and branches, made from the counts of exits. */
#ifndef ADEPT_PROFILE_ROWS_H
#define ADEPT_PROFILE_ROWS_H

#include "count.h"
#include "libdep/fold/images.h"

/** struct dep_rows - @insns: struct dep_insn_count; @edges: struct dep_edge_count */
struct dep_rows {
	struct dep_store *store;
	const struct dep_fragments *code;
	struct dep_counts_all *counts;
	struct dep_images images;
	struct dep_table insns, edges;
	u64 refs;
};

/**
 * dep_rows_make() - fill @insns and @edges, sorted and without duplicates
 *
 * The caller frees both, and calls dep_images_free(), also after an error.
 */
int dep_rows_make(struct dep_rows *r);

#endif
