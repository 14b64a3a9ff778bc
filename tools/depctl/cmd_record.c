// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl record: run a command, record it and its children until all have ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
	struct dep_native native;
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

/* COMMAND.dep here, or the first of COMMAND.1.dep, COMMAND.2.dep.. that is free. */
static void default_dir(struct record *r)
{
	const char *slash = strrchr(r->o.argv[0], '/');
	const char *base = slash && slash[1] ? slash + 1 : r->o.argv[0];
	struct stat st;
	int i;

	snprintf(r->dir, sizeof(r->dir), "%s.dep", base);
	for (i = 1; !lstat(r->dir, &st) && i < 1000000; i++)
		snprintf(r->dir, sizeof(r->dir), "%s.%d.dep", base, i);
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
	int ret;

	meta.aslr = !r->o.no_aslr && !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
	r->start_ns = meta.start_ns;
	if (r->o.flags & ADEPT_S_NO_RECORD)
		return 0;
	if (r->o.dir)
		snprintf(r->dir, sizeof(r->dir), "%s", r->o.dir);
	else
		default_dir(r);
	ret = dep_writer_create(&r->writer, r->dir, &meta, r->o.level);
	if (ret == -EEXIST)
		warn("%s exists already; choose another name with -o, or remove it", r->dir);
	else if (ret)
		warn("the store %s cannot be made: %s; choose another place with -o", r->dir,
		     *dep_error() ? dep_error() : strerror(-ret));
	return ret;
}

/* A command that never ran leaves no store behind. */
static void remove_store(struct record *r)
{
	DIR *d = opendir(r->dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(r->dir);
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
	over = signals_pass(r->collector, r->child_ended ? 0 : r->child.pid);
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

static int launch(struct record *r)
{
	struct dep_launch l = {
		.argv = r->o.argv,
		.native = &r->native,
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
					 r->o.ring_size, 0, 0);
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
	ret = dep_session_create(&r->session, r->o.flags, r->o.ring_size, 0, 0);
	if (ret)
		warn("no memory can be shared with the command: %s%s", strerror(-ret),
		     ret == -ENOMEM ? "; see `ulimit -v', or use a smaller --ring-size" : "");
	return ret;
}

static int prepare(struct record *r)
{
	struct dep_exec_ops ops;
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
	r->exec.target = &r->target;
	r->exec.native = runs_native;
	r->exec.arg = r;
	ops = dep_exec_ops(&r->exec);
	ret = dep_collector_create(&r->collector, &r->session, r->writer, r->o.max_size, &ops);
	if (ret)
		warn("the collector cannot be started: %s", strerror(-ret));
	else if (r->no_module)
		dep_collector_note(r->collector, "the kernel module is not used: %s",
				   r->no_module);
	return ret;
}

static void say_losses(struct record *r)
{
	const struct dep_loss *l = &r->loss;
	char size[16];

	if (l->dropped_chunks)
		warn("dropped: %s in %llu pieces, the ring was full (--on-full=drop)",
		     human_size(l->dropped_bytes, size), (unsigned long long)l->dropped_chunks);
	if (l->discarded_bytes)
		warn("not kept: %s, %s", human_size(l->discarded_bytes, size),
		     r->result.failed ? "the store failed" :
		     r->result.stopped ? "--max-size was reached" : "it made no sense");
	if (l->lost_threads || l->lost_processes)
		warn("unrecorded for want of room: %llu threads, %llu processes",
		     (unsigned long long)l->lost_threads, (unsigned long long)l->lost_processes);
	if (l->unfinished_threads)
		warn("%llu thread%s killed: up to one unfinished record %sis missing",
		     (unsigned long long)l->unfinished_threads,
		     l->unfinished_threads == 1 ? " was" : "s were",
		     l->unfinished_threads == 1 ? "" : "of each ");
}

static void say_summary(struct record *r)
{
	const struct dep_collect_status *st = &r->result;
	char a[16], b[16];

	if (r->o.flags & ADEPT_S_NO_RECORD) {
		warn("ran %u process%s unrecorded (--no-record)", st->processes,
		     st->processes == 1 ? "" : "es");
		return;
	}
	if (r->o.flags & ADEPT_S_NULL) {
		warn("%s: counted %s of %u thread%s, kept nothing (--null)", r->dir,
		     human_size(st->null_bytes, a), st->threads, st->threads == 1 ? "" : "s");
		return;
	}
	warn("%s: %u process%s, %u thread%s, %s recorded, %s stored%s", r->dir, st->processes,
	     st->processes == 1 ? "" : "es", st->threads, st->threads == 1 ? "" : "s",
	     human_size(st->raw_bytes, a), human_size(st->stored_bytes, b),
	     r->loss.native_images ? ", some programs ran unrecorded" : "");
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
	say_losses(r);
	if (!r->o.quiet)
		say_summary(r);
	return ret;
}

int cmd_record(int argc, char **argv)
{
	struct record *r = calloc(1, sizeof(*r));
	int status = EXIT_FAILURE, ret;

	if (!r || dep_native_save(&r->native)) {
		warn("out of memory");
		free(r);
		return EXIT_FAILURE;
	}
	r->session.fd = -1;
	record_options_parse(&r->o, argc, argv);
	if (prepare(r))
		goto out;
	signals_catch();
	if (launch(r))
		goto out;
	dep_collector_run(r->collector, r->child.pid, &r->status, tick, r);
	ret = finish(r);
	if (WIFSIGNALED(r->status)) {
		status = 128 + WTERMSIG(r->status);
		signals_die(WTERMSIG(r->status));
	} else if (WIFEXITED(r->status)) {
		status = WEXITSTATUS(r->status);
		/* A recording that failed is no success, even if the command was one. */
		if (!status && (ret || r->result.failed))
			status = EXIT_FAILURE;
	}

out:
	if (r->collector)
		dep_collector_finish(r->collector, &r->loss, NULL);
	if (r->writer) {
		dep_writer_close(r->writer, &r->loss, -1);
		remove_store(r);
	}
	dep_session_destroy(&r->session);
	dep_native_free(&r->native);
	free(r);
	return status;
}
