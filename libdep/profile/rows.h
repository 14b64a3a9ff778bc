/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of instructions and branches, made from the counts of exits. */
#ifndef ADEPT_PROFILE_ROWS_H
#define ADEPT_PROFILE_ROWS_H

#include "counted.h"
#include "libdep/fold/images.h"

/**
 * struct dep_rows - the rows of a profile
 * @counts: what they are made from
 * @whole: rows of the whole pass, if these are the rows of one of its intervals; or NULL
 * @images: made by dep_images_make()
 * @insns: struct dep_insn_count
 * @edges: struct dep_edge_count
 */
struct dep_rows {
	struct dep_store *store;
	const struct dep_fragments *code;
	const struct dep_counted *counts;
	const struct dep_table *whole;
	struct dep_images images;
	struct dep_table insns, edges;
	u64 refs;
};

/**
 * dep_rows_make() - fill @insns and @edges, sorted and without duplicates
 *
 * The caller frees both, also after an error.
 */
int dep_rows_make(struct dep_rows *r);

#endif
