/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session, its collector, and a writer that checks what it receives. */
#ifndef TESTS_UNIT_COLLECT_COLLECT_FIXTURE_H
#define TESTS_UNIT_COLLECT_COLLECT_FIXTURE_H

#include "libdep/collect/internal.h"
#include "fake_engine.h"
#include "fake_writer.h"

struct collect_fixture {
	struct dep_session s;
	struct dep_collector *c;
	struct dep_writer *w;
	struct dep_ending ending;
	u64 *shared;		/* 64 counters */
	int status;
};

void collect_begin(struct collect_fixture *f, u32 flags, u64 ring, u64 max_size);
/** collect_check() - the writer has found no error */
void collect_check(struct collect_fixture *f);
void collect_end(struct collect_fixture *f);
/** collect_run() - run the collector until @child and all its descendants have ended */
void collect_run(struct collect_fixture *f, pid_t child);
/** collect_write() - a thread of @p writes @n records and counts them in *@progress, unless NULL */
void collect_write(struct fake_process *p, u64 *progress, u32 n, u32 describe_every);
/** collect_start() - fork(); the child is a recorded process, with a thread if @t is not NULL */
pid_t collect_start(struct collect_fixture *f, struct fake_process *p, struct fake_thread *t);
/** collect_start_writer() - fork(); the child only calls collect_write() */
pid_t collect_start_writer(struct collect_fixture *f, u64 *progress, u32 n, u32 describe_every,
			   int status);

#endif
