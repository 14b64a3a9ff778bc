/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file profile.counts: the counters of a whole recording, so that the next profile of the same
 * store needs no pass over its segments (libdep/format/read/kept_file.h).
 *
 * Its tables are struct dep_exit_total, struct dep_counter of pieces, pairs and interruptions,
 * struct dep_thread_count and struct dep_time_count.
 */
#ifndef ADEPT_PROFILE_KEPT_H
#define ADEPT_PROFILE_KEPT_H

#include "counted.h"
#include "libdep/format/read/kept_file.h"

#define DEP_COUNTS_VERSION	2u	/* increase it when rows or their meaning change */

enum dep_kept_counts_table {
	DEP_KEPT_EXITS, DEP_KEPT_PIECES, DEP_KEPT_PAIRS, DEP_KEPT_INTERRUPTIONS, DEP_KEPT_THREADS,
	DEP_KEPT_TIMES, DEP_KEPT_KINDS
};

enum dep_kept_counts_word {
	DEP_KEPT_GAPS,		/* as in struct dep_fold_loss */
};

extern const struct dep_kept_kind dep_counts_file;

/** struct dep_kept_counts - what is kept of a pass: its counters, settled, and its sums */
struct dep_kept_counts {
	struct dep_counted counted;
	struct dep_table threads, times;	/* as in struct dep_counts_all */
	u64 gaps;
};

/**
 * dep_kept_counts_read() - read the counters that are kept for @key
 * @out: on success the caller frees its arrays
 *
 * Return: true, or false if there are none, or none that fit.
 */
bool dep_kept_counts_read(struct dep_kept_counts *out, struct dep_store *store,
			  const struct dep_fragments *code, const struct dep_kept_key *key);

/** dep_kept_counts_write() - keep @k, see dep_kept_write() */
void dep_kept_counts_write(const struct dep_kept_counts *k, struct dep_store *store,
			   const struct dep_fragments *code, const struct dep_kept_key *key);

#endif
