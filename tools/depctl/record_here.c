// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording that depctl collects itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../libdep/collect/exec.h"
#include "../../libdep/collect/module.h"
#include "depctl.h"
#include "record.h"

struct record {
	struct record_options o;
	char dir[PATH_MAX];
	struct dep_session session;
	struct dep_target target;
	struct dep_exec exec;
	struct dep_writer *writer;
	struct dep_collector *collector;
	struct dep_injected child;
	struct dep_collect_status result;
	const char *no_module;	/* why --transport=auto does without it, NULL: there is none */
	struct dep_loss loss;
	bool child_ended, told_waiting, told_failed;
	uint64_t start_ns, ended_ns;
	int status;		/* of the command, as wait() gives it */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int make_store(struct record *r)
{
	char cwd[PATH_MAX];
	struct dep_meta meta = {
		.argc = r->o.argc,
		.argv = r->o.argv,
		.cwd = getcwd(cwd, sizeof(cwd)) ? cwd : "?",
		.session_flags = r->o.flags,
		.chunk_size = r->session.layout.chunk_size,
		.nchunks = r->session.layout.nchunks,
		.max_size = r->o.max_size,
		.start_ns = clock_ns(CLOCK_MONOTONIC),
		.start_realtime_ns = clock_ns(CLOCK_REALTIME),
	};
	int ret, level;

	meta.aslr = !r->o.no_aslr && !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
	r->start_ns = meta.start_ns;
	if (r->o.flags & ADEPT_S_NO_RECORD)
		return 0;
	record_dir(&r->o, r->dir, sizeof(r->dir));
	level = r->o.level ? r->o.level : r->o.temporary ? DEP_LEVEL_QUICK : 0;
	ret = dep_writer_create(&r->writer, r->dir, &meta, level);
	if (!ret && r->o.temporary)
		dep_writer_temporary(r->writer);
	if (ret == -EEXIST)
		warn("%s exists already; choose another name with -o, or remove it", r->dir);
	else if (ret)
		warn("the store %s cannot be made: %s; choose another place with -o", r->dir,
		     *dep_error() ? dep_error() : strerror(-ret));
	return ret;
}

static void runs_native(void *arg, pid_t pid, const char *why)
{
	struct record *r = arg;

	dep_collector_note(r->collector, "process %d runs unrecorded: %s", pid, why);
}

/* In every round of the collector. */
static int tick(void *arg)
{
	struct record *r = arg;
	struct dep_collect_status st;
	int over;

	if (!r->child_ended && dep_collector_child_ended(r->collector)) {
		r->child_ended = true;
		r->ended_ns = clock_ns(CLOCK_MONOTONIC);
	}
	over = signals_pass(dep_collector_busy(r->collector, r->child.pid),
			    r->child_ended ? 0 : r->child.pid);
	if (over)
		return over;
	dep_collector_status(r->collector, &st);
	if (st.failed && !r->told_failed) {
		r->told_failed = true;
		warn("recording has stopped, the command goes on: %s",
		     dep_collector_error(r->collector));
	}
	if (r->child_ended && !r->told_waiting && !r->o.quiet && st.live_processes &&
	    clock_ns(CLOCK_MONOTONIC) - r->ended_ns > 1000000000ull && isatty(STDERR_FILENO)) {
		r->told_waiting = true;
		warn("%s has ended; %u of its processes still run and are recorded; Ctrl-C ends "
		     "the recording, not them", r->o.argv[0], st.live_processes);
	}
	return 0;
}

static int launch(struct record *r, const struct dep_native *native)
{
	struct dep_launch l = {
		.argv = r->o.argv,
		.native = native,
		.flags = r->o.no_aslr ? DEP_LAUNCH_NO_ASLR : 0,
	};
	struct dep_why why = { "" };
	int ret;

	ret = dep_launch(&r->target, &l, &r->child, &why);
	if (ret) {
		warn("%s cannot be recorded: %s", r->o.argv[0],
		     *why.text ? why.text : strerror(-ret));
		return ret;
	}
	if (r->child.native) {
		warn("%s runs unrecorded: %s", r->o.argv[0], why.text);
		dep_collector_note(r->collector, "%s runs unrecorded: %s", r->o.argv[0], why.text);
	}
	return 0;
}

static int make_session(struct record *r)
{
	bool module = r->o.transport != TRANSPORT_SHM && !(r->o.flags & ADEPT_S_NO_RECORD);
	int ret = -ENOENT;

	if (module) {
		ret = dep_session_create(&r->session, r->o.flags | ADEPT_S_MODULE,
					 r->o.ring_size, 0, 0, 0);
		if (!ret)
			r->o.flags |= ADEPT_S_MODULE;
		else if (r->o.transport == TRANSPORT_KMOD)
			warn("/dev/adept cannot be used: %s; --transport=shm needs no module",
			     module_trouble(ret));
		else if (ret != -ENOENT)
			r->no_module = module_trouble(ret);
		if (!ret || r->o.transport == TRANSPORT_KMOD)
			return ret;
	}
	ret = dep_session_create(&r->session, r->o.flags, r->o.ring_size, 0, 0, 0);
	if (ret)
		warn("no memory can be shared with the command: %s%s", strerror(-ret),
		     ret == -ENOMEM ? "; see `ulimit -v', or use a smaller --ring-size" : "");
	return ret;
}

static int prepare(struct record *r)
{
	struct dep_exec_ops ops;
	struct dep_collect_setup setup = { .max_size = r->o.max_size, .ops = &ops };
	struct dep_why why = { "" };
	struct rlimit files;
	int ret;

	/* A pidfd per process; the command gets its own limit back from the injector. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	ret = make_session(r);
	if (ret)
		return ret;
	ret = dep_target_init(&r->target, r->session.map, r->session.fd, &why);
	if (ret) {
		warn("%s", why.text);
		return ret;
	}
	if (r->session.module)
		r->target.ring_fd = dep_module_writer(r->session.module);
	ret = make_store(r);
	if (ret)
		return ret;
	record_races_beside(r->o.beside, r->session.fd);
	r->exec.target = &r->target;
	r->exec.native = runs_native;
	r->exec.arg = r;
	ops = dep_exec_ops(&r->exec);
	setup.w = r->writer;
	ret = dep_collector_create(&r->collector, &r->session, &setup);
	if (ret)
		warn("the collector cannot be started: %s", strerror(-ret));
	else if (r->no_module)
		dep_collector_note(r->collector, "the kernel module is not used: %s",
				   r->no_module);
	return ret;
}

/* Everything is done but to end; gives what depctl's own part of it amounts to. */
static int finish(struct record *r)
{
	int ret = 0;

	dep_collector_finish(r->collector, &r->loss, &r->result);
	if (r->result.failed && !r->told_failed)
		warn("recording has failed: %s", r->result.error);
	r->collector = NULL;
	if (r->child.native)
		r->loss.native_images++;
	if (r->writer) {
		r->result.stored_bytes = dep_writer_bytes(r->writer);
		ret = dep_writer_close(r->writer, &r->loss, r->status);
		if (ret && !r->result.failed)
			warn("the store %s could not be completed: %s; it can be read as far as it "
			     "goes", r->dir, *dep_error() ? dep_error() : strerror(-ret));
		r->writer = NULL;
	}
	return ret;
}

static void tell(const struct record *r, struct recorded *out)
{
	*out = (struct recorded){
		.processes = r->result.processes, .threads = r->result.threads,
		.raw_bytes = r->result.raw_bytes, .stored_bytes = r->result.stored_bytes,
		.null_bytes = r->result.null_bytes,
		.loss = r->loss,
		.failed = r->result.failed, .stopped = r->result.stopped,
		.status = r->status,
	};
	record_summary(&r->o, r->dir, out);
}

int record_here(const struct record_options *o, const struct dep_native *native,
		struct recorded *out)
{
	struct record *r = calloc(1, sizeof(*r));
	int ret = 1;

	if (!r) {
		warn("out of memory");
		return ret;
	}
	r->o = *o;
	r->session.fd = -1;
	if (prepare(r))
		goto out;
	signals_catch();
	if (launch(r, native))
		goto out;
	dep_collector_run(r->collector, r->child.pid, &r->status, tick, r);
	ret = finish(r) ? -1 : 0;
	tell(r, out);

out:
	if (r->collector)
		dep_collector_finish(r->collector, &r->loss, NULL);
	if (r->writer) {
		dep_writer_close(r->writer, &r->loss, -1);
		/* A command that never ran leaves none behind. */
		dep_store_remove(r->dir);
	}
	dep_session_destroy(&r->session);
	free(r);
	return ret;
}
