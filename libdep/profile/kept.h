/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file profile.counts: the counters of a whole recording, so that the next profile of the same
 * store needs no pass over its segments.
 *
 *	0	struct dep_wire_counts
 *	88	struct dep_exit_total, struct dep_counter of pieces, pairs and interruptions,
 *		struct dep_thread_count and struct dep_time_count: as many rows as the header says
 *
 * Like the catalog it is made from the other files, and can be removed.  Only a recording that has
 * ended, without damaged segments, has one.  It is used if it was made for this ending of the
 * recording, for segment files of these sizes and times of change, and for the same exits of the
 * decoded code; if nobody could write it but the reader, the owner of the store and root; and if
 * its checksums match.  A checksum is no proof: each row is checked before it is used, too.
 */
#ifndef ADEPT_PROFILE_KEPT_H
#define ADEPT_PROFILE_KEPT_H

#include "counted.h"

#define DEP_COUNTS_MAGIC	"DEPCNT\r\n"
#define DEP_COUNTS_VERSION	1u	/* increase it when rows or their meaning change */

enum dep_kept_rows {
	DEP_KEPT_EXITS, DEP_KEPT_PIECES, DEP_KEPT_PAIRS, DEP_KEPT_INTERRUPTIONS, DEP_KEPT_THREADS,
	DEP_KEPT_TIMES, DEP_KEPT_KINDS
};

struct dep_wire_counts {
	char magic[8];
	u32 version, pad;
	u64 end_check;		/* checksum of the END frame */
	u64 files;		/* XXH3-64 of the sizes and times of change of log and segments */
	u64 code;		/* XXH3-64 of what each exit means */
	u64 gaps;		/* as in struct dep_fold_loss */
	u32 n[DEP_KEPT_KINDS];	/* numbers of rows */
	u64 rows_check;		/* XXH3-64 of all rows; all are seeded with the store's id */
	u64 check;		/* the same of the fields above */
};

/** struct dep_kept_counts - what is kept of a pass: its counters, settled, and its sums */
struct dep_kept_counts {
	struct dep_counted counted;
	struct dep_table threads, times;	/* as in struct dep_counts_all */
	u64 gaps;
};

/** struct dep_kept_key - what a file must have been made for; dep_kept_key() fills it in */
struct dep_kept_key {
	u64 end_check, files, code;
};

/** dep_kept_key() - false: counters of this store and these options are not kept */
bool dep_kept_key(struct dep_kept_key *key, const struct dep_store *store,
		  const struct dep_fragments *code, const struct dep_fold_options *options);

/**
 * dep_kept_read() - read the counters that are kept for @key
 * @out: on success the caller frees its arrays
 *
 * Return: true, or false if there are none, or none that fit.
 */
bool dep_kept_read(struct dep_kept_counts *out, struct dep_store *store,
		   const struct dep_fragments *code, const struct dep_kept_key *key);

/**
 * dep_kept_write() - keep @k if @store belongs to the caller and is still that of @key
 *
 * Without space or on a file system that cannot be written, nothing is kept.
 */
void dep_kept_write(const struct dep_kept_counts *k, struct dep_store *store,
		    const struct dep_fragments *code, const struct dep_kept_key *key);

#endif
