/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of depctl report. */
#ifndef DEPCTL_PROFILE_REPORT_PARTS_H
#define DEPCTL_PROFILE_REPORT_PARTS_H

#include "tools/depctl/common/output.h"
#include "profile.h"

#define REPORT_FUNCTIONS	10u	/* rows, unless --top tells otherwise */
#define REPORT_LOOPS		5u
#define REPORT_PATHS		8u
#define REPORT_CONTEXTS		5u
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
	struct dep_path_profile *paths;	/* NULL: not asked for; then @hot is empty */
	struct hot_paths hot;
	uint32_t *context;		/* indexes of contexts that executed something */
	size_t ncontexts;
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

/* Both return 0 or -ENOMEM. */
int report_text(struct report *r);
int report_json(struct report *r);

/* ---- report_lines.c ---- */

static inline double per_cent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/** report_put_columns() - put @text with exactly @width columns */
void report_put_columns(struct report *r, const char *text, size_t width);
/** report_put_name() - put @name with as many columns as names have */
void report_put_name(struct report *r, const char *name);
/** report_put_title() - begin a section: its title above names and what is before them */
void report_put_title(struct report *r, const char *title);
/** report_put_place() - end a line with the source line of @site, or the file that has the code */
void report_put_place(struct report *r, struct site site);

/* ---- report_paths.c: nothing is written unless paths were asked for; 0 or -ENOMEM ---- */

int report_paths_text(struct report *r);
int report_paths_json(struct report *r, struct json *j);
/** report_loop_json() - write the hot path of @l, a member of its object */
int report_loop_json(struct report *r, struct json *j, const struct loop *l);

/* ---- report_contexts.c ---- */

void report_contexts_text(struct report *r);
void report_contexts_json(struct report *r, struct json *j);

#endif
