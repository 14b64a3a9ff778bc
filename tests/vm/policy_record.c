// SPDX-License-Identifier: GPL-2.0-or-later
/* A session and a store for one held process: a daemon's core in short. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libdep/collect/exec_ops.h"
#include "libdep/format/write/store_writer.h"
#include "policy.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct dep_writer *make_store(const char *dir, const struct dep_session *s)
{
	static char *argv[] = { (char *)"held", NULL };
	struct dep_meta meta = {
		.argc = 1, .argv = argv, .cwd = "/", .chunk_size = s->layout.chunk_size,
		.nchunks = s->layout.nchunks, .start_ns = clock_ns(CLOCK_MONOTONIC),
		.start_realtime_ns = clock_ns(CLOCK_REALTIME), .aslr = 1,
	};
	struct dep_writer *w;

	return dep_writer_create(&w, dir, &meta, 0) ? NULL : w;
}

int record_held(pid_t pid, const char *dir, void (*taken)(pid_t pid), char *why, size_t size)
{
	const struct dep_pending who = { .pid = pid };
	static struct dep_exec exec;
	struct dep_session session = { .fd = -1 };
	struct dep_collector *c = NULL;
	struct dep_writer *w = NULL;
	struct dep_injected done;
	struct dep_exec_ops ops;
	struct dep_collect_setup setup = { .ops = &ops };
	struct dep_target target;
	struct dep_why text = { "" };
	struct dep_ending ending = { 0 };
	int err, status = -1;

	err = dep_session_create(&session, 0, 0, 0, 0, 0);
	if (!err)
		err = dep_target_init(&target, session.map, session.fd, &text);
	/* The process that is taken: what follows is judged against that process. */
	memset(&target.base, 0, sizeof(target.base));
	if (!err && !(w = make_store(dir, &session)))
		err = -1;
	if (!err) {
		memset(&exec, 0, sizeof(exec));
		exec.target = &target;
		ops = dep_exec_ops(&exec);
		setup.w = w;
		err = dep_collector_create(&c, &session, &setup);
	}
	if (!err)
		err = dep_attach(&target, &who, ADEPT_BY_LAUNCH, &done, &text);
	if (!err) {
		target.base = done.base;
		taken(pid);
	}
	if (!err)
		err = dep_collector_run(c, 0, &status, NULL, NULL);
	if (c)
		dep_collector_finish(c, &ending, NULL);
	if (w)
		dep_writer_close(w, &ending);
	dep_session_destroy(&session);
	snprintf(why, size, "%s", text.text);
	return err;
}
