/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fold that counts exits, and what it counts. */
#ifndef ADEPT_PROFILE_COUNT_H
#define ADEPT_PROFILE_COUNT_H

#include "count_map.h"
#include "dep/profile.h"
#include "libdep/format/file/table.h"

#define DEP_EXIT_PAGE	512u	/* counters in a page of dep_process_counts */
#define DEP_PAIRS	4096u	/* indirect branches that are counted without the hash table */

/** struct dep_process_counts - how often a process took each exit; a table row */
struct dep_process_counts {
	u32 process, pad;	/* serial */
	u64 **page;		/* of DEP_EXIT_PAGE counters, by the number of the exit; or NULL */
};

/** struct dep_seam - where a run of segments of a thread ended, or began */
struct dep_seam {
	u32 thread, process;
	u64 seq;		/* of the segment that begins at the seam */
	u64 pc;			/* an end: of the next instruction; a beginning: of the first one */
	u32 image;		/* of a beginning */
	bool begins;
};

/**
 * struct dep_counts_all - all counts of a pass, or of a worker's part of it
 * @processes: struct dep_process_counts, sorted by process
 * @pairs: targets of indirect branches: a = address, b = number of the exit, c = process, d = file
 *	of the address, or DEP_IMAGE_LATER
 * @pieces: records without an exit: a = fragment, b = instructions executed, c = process
 * @breaks: a = address, b = DEP_EDGE_ENTERED or DEP_EDGE_LEFT, c = process, d as in @pairs
 * @threads: struct dep_thread_count, sorted by thread
 * @times: struct dep_time_count
 * @seams: struct dep_seam
 */
struct dep_counts_all {
	struct dep_table processes, threads, times, seams;
	struct dep_count_map pairs, pieces, breaks;
};

#define DEP_IMAGE_LATER	UINT32_MAX	/* the next code did not follow: look the address up */

/** dep_count_fold - `self` is a struct dep_counts_all of zeros */
extern const struct dep_fold dep_count_fold;

/** dep_counts_settle() - match the seams, after the pass; 0 or -ENOMEM */
int dep_counts_settle(struct dep_counts_all *a);
void dep_counts_all_free(struct dep_counts_all *a, u32 nexits);

/** dep_exit_count() - number of times that the process took exit @number */
static inline u64 dep_exit_count(const struct dep_process_counts *p, u32 number)
{
	const u64 *page = p->page[number / DEP_EXIT_PAGE];

	return page ? page[number % DEP_EXIT_PAGE] : 0;
}

#endif
