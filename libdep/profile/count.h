/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fold that counts exits, and what it counts. */
#ifndef ADEPT_PROFILE_COUNT_H
#define ADEPT_PROFILE_COUNT_H

#include "count_map.h"
#include "dep/profile.h"
#include "libdep/fold/division.h"
#include "libdep/format/file/table.h"
#include "libdep/format/read/store.h"

#define DEP_PAIRS	32768u	/* indirect branches that are counted without the hash table */

/** struct dep_exit_total - how often a process took an exit in an interval; a table row */
struct dep_exit_total {
	u32 process, exit;	/* serial; number of the exit */
	u32 interval, pad;
	u64 count;
};

/**
 * struct dep_seam - where a run of segments of a thread ended, or began
 *
 * The other side of it is in another part.  A run in which the thread did not execute anything has
 * one row for its beginning and its end, which is @through.
 */
struct dep_seam {
	u32 thread, process;
	u64 seq;		/* of the segment that begins at the seam */
	u64 pc;			/* an end: of the next instruction; a beginning: of the first one */
	u64 to;			/* with @through: seq of the segment behind the run */
	u32 exit;		/* an end: indirect exit that goes on at @pc; 0: none */
	u32 fragment;		/* of a beginning: the code at @pc, or DEP_CODE_LATER */
	u32 entered;		/* of a beginning: that of the row, if the end does not match */
	/* Intervals of the first and the last segment that showed @pc; @exit is of @first. */
	u32 first, last;
	bool begins, through;
};

/**
 * struct dep_counts_all - all counts of a pass, or of a worker's part of it
 * @division: the intervals; set before the pass
 * @exits: struct dep_exit_total; after dep_counts_settle() sorted by process, exit and interval,
 *	without duplicates
 * @pairs: targets of indirect branches: a = address, b = number of the exit, c = process, d = index
 *	of the fragment that begins there, or DEP_CODE_LATER, e = interval
 * @pieces: records without an exit: a = fragment, b = instructions executed, c = process,
 *	e = interval
 * @breaks: a = address, b = DEP_EDGE_ENTERED or DEP_EDGE_LEFT, c = process, d and e as in @pairs
 * @threads: struct dep_thread_count, sorted by thread
 * @times: struct dep_time_count
 * @seams: struct dep_seam
 *
 * Keys have numbers of fragments and exits, which a growing store does not change, but not those of
 * files, which it does.
 *
 * All counts belong to the interval in which the segment begins that has them: an indirect branch
 * to that of the branch, and DEP_EDGE_LEFT to that of the last segment that showed where the thread
 * would go on.
 */
struct dep_counts_all {
	struct dep_division division;
	struct dep_table exits, threads, times, seams;
	struct dep_count_map pairs, pieces, breaks;
};

#define DEP_PC_UNKNOWN	0	/* in a seam: not known where the thread goes on */
#define DEP_CODE_LATER	UINT32_MAX	/* the next code did not follow: look the address up */

/** dep_count_fold - `self` is a struct dep_counts_all of zeros */
extern const struct dep_fold dep_count_fold;

/** dep_counts_compact() - sort the exits and add up those of one exit; 0 or -EFBIG */
int dep_counts_compact(struct dep_counts_all *a, struct dep_store *store);
/** dep_counts_join() - add the counts of a part; 0 or -ENOMEM */
int dep_counts_join(struct dep_counts_all *to, const struct dep_counts_all *from);
/** dep_counts_settle() - sort the exits and match the seams, after the pass; 0 or an error */
int dep_counts_settle(struct dep_counts_all *a, struct dep_store *store);
/**
 * dep_counts_settle_known() - match the seams between the passes up to now
 *
 * Further passes may add counts of segments behind those of each thread.  At most one seam of each
 * thread remains.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_counts_settle_known(struct dep_counts_all *a);
void dep_counts_all_free(struct dep_counts_all *a);

/** dep_profile_check() - -EFBIG if @bytes of counters or rows are more than a normal store needs */
int dep_profile_check(struct dep_store *store, u64 bytes);

#endif
