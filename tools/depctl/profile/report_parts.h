/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of depctl report. */
#ifndef DEPCTL_PROFILE_REPORT_PARTS_H
#define DEPCTL_PROFILE_REPORT_PARTS_H

#include "tools/depctl/common/output.h"
#include "profile.h"

#define REPORT_FUNCTIONS	10u	/* rows, unless --top tells otherwise */
#define REPORT_LOOPS		5u
#define REPORT_PROCESSES	8u
#define REPORT_THREADS		5u
#define REPORT_WIDTH		100u	/* columns */

/** struct process_sum - what the threads of a process executed */
struct process_sum {
	const struct dep_process *process;
	uint64_t insns;
	size_t threads;
};

/** struct report - the rows of a report, most first */
struct report {
	struct profile_view v;
	struct out out;
	struct reasons why;
	uint32_t *function;		/* indexes of functions */
	size_t nfunctions;
	struct loops loops;
	struct guesses guesses;
	struct process_sum *process;
	size_t nprocesses;
	struct dep_thread_count *thread;
	size_t nthreads;
	uint64_t start_ns, end_ns;	/* of the recording; end 0: nothing was recorded */
	uint64_t *column;		/* instructions by time */
	size_t ncolumns;
};

/** report_collect() - sort what @r->v has; 0 or -ENOMEM */
int report_collect(struct report *r);
void report_free(struct report *r);

void report_text(struct report *r);
void report_json(struct report *r);

#endif
