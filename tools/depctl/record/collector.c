// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector process of `depctl record --alone'.  recorder.h shows how the processes work
 * together.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libdep/collect/exec_ops.h"
#include "libdep/collect/kept_now.h"
#include "libdep/collect/module_session.h"
#include "libdep/format/file/remove.h"
#include "libdep/format/write/store_dir.h"
#include "libdep/format/write/store_writer.h"
#include "tools/depctl/depctl.h"
#include "perf_events.h"
#include "recorder.h"
#include "snapshots.h"

struct record {
	struct record_options o;
	const char *dir;	/* directory of the store; "": no store */
	int sock;		/* socket to depctl */
	bool alone;		/* depctl has ended */
	struct dep_session session;
	struct dep_target target;
	struct dep_exec exec;
	struct dep_writer *writer;
	struct dep_collector *collector;
	struct dep_collect_status result;
	const char *no_module;	/* why --transport=auto does not use the module, or NULL */
	struct dep_ending ending;
	struct dep_store_dir store;	/* .dirfd -1: it was not made */
	bool removed;		/* the store is to be removed: --keep-if */
	bool native;		/* the command runs unrecorded */
	bool privileged;	/* the command runs unrecorded because it has privileges */
	bool child_ended, warned_waiting, warned_failed, warned_full;
	uint64_t ended_ns;
	char cwd[PATH_MAX];
	struct dep_meta meta;
	struct snapshots snapshots;
	struct perf_counters perf;
	uint64_t kept_ns;	/* with --last: time at the end of which nothing was dropped */
	int status;		/* wait() status of the command; -1: not known */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int make_store(struct record *r)
{
	int ret, level;

	r->meta = (struct dep_meta){
		.argc = r->o.argc,
		.argv = r->o.argv,
		.cwd = record_cwd(r->o.pid, r->cwd, sizeof(r->cwd)) ? r->cwd : "?",
		.aslr = record_aslr(&r->o),
		.session_flags = r->o.flags,
		.chunk_size = r->session.layout.chunk_size,
		.nchunks = r->session.layout.nchunks,
		.max_size = r->o.max_size,
		.start_ns = clock_ns(CLOCK_MONOTONIC),
		.start_realtime_ns = clock_ns(CLOCK_REALTIME),
		.temporary = r->o.temporary,
		.shared = r->o.shared,
		.group = r->o.group,
	};
	if (!*r->dir)
		return 0;
	level = r->o.level ? r->o.level : r->o.temporary ? DEP_LEVEL_QUICK : 0;
	ret = dep_writer_create(&r->writer, r->dir, &r->meta, level);
	if (!ret)
		ret = dep_writer_dir(r->writer, &r->store);
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

	dep_collector_message(r->collector, "process %d runs unrecorded: %s", pid, why);
}

static void command_ended(struct record *r, int status)
{
	r->child_ended = true;
	r->ended_ns = clock_ns(CLOCK_MONOTONIC);
	r->status = status;
	dep_collector_child_gone(r->collector);
}

/* depctl has ended, so it will not send the command's wait status.  Return: 1: stop recording. */
static int depctl_gone(struct record *r)
{
	r->alone = true;
	if (!r->child_ended)
		command_ended(r, -1);
	/* Stop if the store is temporary: without depctl, it has no reader. */
	return r->o.temporary;
}

/* Handle messages from depctl.  Return: 1: end the recording. */
static int listen_to_depctl(struct record *r)
{
	struct recorder_message m;
	int ret;

	while (!r->alone) {
		ret = recorder_receive(r->sock, &m, NULL, MSG_DONTWAIT);
		if (ret == -EAGAIN)
			break;
		if (ret)
			return depctl_gone(r);
		if (m.kind == RECORDER_ENDED)
			command_ended(r, m.ended.status);
		else if (m.kind == RECORDER_STOP)
			return 1;
	}
	return 0;
}

static bool is_waiting(const struct record *r, const struct dep_collect_status *st)
{
	return r->child_ended && !r->alone && !r->o.quiet && st->live_processes &&
	       clock_ns(CLOCK_MONOTONIC) - r->ended_ns > 1000000000ull && isatty(STDERR_FILENO);
}

/* With --last: make the snapshots that were asked for. */
static void take_snapshots(struct record *r)
{
	struct dep_kept kept;

	while (dep_collector_triggered(r->collector, &kept))
		snapshots_trigger(&r->snapshots, &kept);
	if (perf_reached(&r->perf, &kept))
		snapshots_trigger(&r->snapshots, &kept);
	snapshots_tick(&r->snapshots);
}

/* Called in each pass of the collector's loop.  Return: 1: stop recording. */
static int tick(void *arg)
{
	struct record *r = arg;
	struct dep_collect_status st;
	char size[16];

	if (listen_to_depctl(r))
		return 1;
	if (r->o.last_bytes)
		take_snapshots(r);
	dep_collector_status(r->collector, &st);
	/* Another depctl has detached from the process. */
	if (r->o.pid && !r->child_ended && st.processes && !st.live_processes)
		command_ended(r, -1);
	if (st.failed && !r->warned_failed) {
		r->warned_failed = true;
		warn("recording has stopped, the command goes on: %s",
		     dep_collector_error(r->collector));
	}
	if (st.last_limit < r->o.last_bytes && !r->warned_full) {
		r->warned_full = true;
		warn("the disk is full: less than --last asks for is kept, at present %s",
		     human_size(st.last_limit, size));
	}
	if (!r->warned_waiting && is_waiting(r, &st)) {
		r->warned_waiting = true;
		warn("%s has ended, but %u of its processes are still running and recorded; "
		     "Ctrl-C ends the recording, but not these processes", r->o.argv[0],
		     st.live_processes);
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
			warn("/dev/adept cannot be used: %s; or record with --transport=shm",
			     module_error(ret));
		else if (ret != -ENOENT)
			r->no_module = module_error(ret);
		if (!ret || r->o.transport == TRANSPORT_KMOD)
			return ret;
	}
	ret = dep_session_create(&r->session, r->o.flags, r->o.ring_size, 0, 0, 0);
	if (ret)
		warn("cannot create memory shared with the command: %s%s", strerror(-ret),
		     ret == -ENOMEM ? "; see `ulimit -v', or use a smaller --ring-size" : "");
	return ret;
}

/*
 * True if this process may trace the processes that depctl launches.  Yama may forbid an
 * unprivileged process to trace others than its descendants.  It then also forbids this process to
 * read the memory of depctl, its parent; so try to read a byte.
 */
static bool may_trace(pid_t depctl)
{
	static const char byte;
	char copy;
	struct iovec local = { &copy, 1 }, remote = { (void *)(uintptr_t)&byte, 1 };

	return process_vm_readv(depctl, &local, 1, &remote, 1, 0) == 1 || errno != EPERM;
}

static int prepare(struct record *r)
{
	struct dep_exec_ops ops;
	struct dep_collect_setup setup = {
		.max_size = r->o.max_size, .ops = &ops,
		.last_bytes = r->o.last_bytes, .last_ns = r->o.last_ns,
		.last_on_disk = r->o.last_on_disk,
	};
	struct dep_why why = { "" };
	struct rlimit files;
	int ret;

	/* Raise the limit of descriptors: the collector has a pidfd for each recorded process. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	ret = make_session(r);
	if (ret)
		return ret;
	dep_session_watch(&r->session, &r->o.triggers);
	dep_session_seed(&r->session, r->o.chaos_seed);
	if (r->o.last_bytes)
		dep_session_tell_removed(&r->session);
	dep_session_guard(&r->session);
	ret = dep_target_init(&r->target, r->session.map, r->session.fd, &why);
	if (ret) {
		warn("%s", why.text);
		return ret;
	}
	if (r->session.module)
		r->target.ring_fd = dep_module_writer(r->session.module);
	r->target.collector = getppid();
	if (!may_trace(getppid()))
		r->target.ptracer = getpid();
	ret = make_store(r);
	if (ret)
		return ret;
	r->exec.target = &r->target;
	r->exec.native = runs_native;
	r->exec.arg = r;
	ops = dep_exec_ops(&r->exec);
	setup.w = r->writer;
	ret = dep_collector_create(&r->collector, &r->session, &setup);
	if (ret)
		warn("the collector cannot be started: %s",
		     r->o.last_on_disk && *dep_error() ? dep_error() : strerror(-ret));
	else if (r->no_module)
		dep_collector_message(r->collector, "the kernel module is not used: %s",
				      r->no_module);
	if (ret || !r->o.last_bytes)
		return ret;
	r->snapshots = (struct snapshots){
		.o = &r->o, .dir = r->dir, .meta = &r->meta, .collector = r->collector,
	};
	r->perf.o = &r->o;
	snapshots_begin(&r->snapshots, &r->session);
	return 0;
}

/* With --last: the reason why the store is kept. */
static void give_reason(struct record *r)
{
	const struct dep_kept why = dep_kept_ended(r->status);

	dep_collector_why(r->collector, &why);
}

/* End the recording and complete the store.  Return: 0 or a negative errno. */
static int finish(struct record *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int ret = 0;

	if (r->o.last_bytes) {
		take_snapshots(r);
		perf_end(&r->perf);
		snapshots_end(&r->snapshots);
		give_reason(r);
	}
	r->removed = r->store.dirfd >= 0 && !r->native && !dep_keep_if_met(r->o.keep_if, r->status);
	if (r->removed)
		dep_collector_drop_last(r->collector);
	dep_collector_finish(r->collector, &r->ending, &r->result);
	if (r->result.last_from_ns && r->result.last_from_ns < now)
		r->kept_ns = now - r->result.last_from_ns;
	if (r->result.failed && !r->warned_failed)
		warn("recording has failed: %s", r->result.error);
	r->collector = NULL;
	r->ending.loss.native_images += r->native;
	r->ending.loss.native_privileged += r->privileged;
	if (r->writer) {
		r->result.stored_bytes = dep_writer_bytes(r->writer);
		r->ending.exit_status = r->status;
		ret = dep_writer_close(r->writer, &r->ending);
		if (ret > 0) {
			warn("the catalog or the manifest of %s could not be written: %s; `depctl "
			     "verify --rebuild' writes them again", r->dir, dep_error());
			ret = 0;
		}
		if (ret && !r->result.failed)
			warn("the store %s could not be completed: %s; data stored until then can "
			     "be read", r->dir, *dep_error() ? dep_error() : strerror(-ret));
		r->writer = NULL;
	}
	return ret;
}

static int ready(struct record *r)
{
	const struct recorder_message m = {
		.kind = RECORDER_READY, .ready = { .ptracer = r->target.ptracer },
	};
	const int fds[2] = { r->session.fd, r->target.ring_fd };

	return recorder_send(r->sock, &m, fds, fds[1] < 0 ? 1 : 2);
}

/* Wait until depctl has launched the command.  False: depctl launched no command. */
static bool wait_for_launch(struct record *r)
{
	struct recorder_message m;

	if (recorder_receive(r->sock, &m, NULL, 0)) {
		/*
		 * depctl was killed.  If it had launched the command, the session file has a slot
		 * (entry) for the command.
		 */
		depctl_gone(r);
		return true;
	}
	if (m.kind != RECORDER_LAUNCHED)
		return false;
	r->native = m.launched.native;
	r->privileged = m.launched.privileged;
	m.launched.why[sizeof(m.launched.why) - 1] = '\0';
	if (r->o.nperf)
		perf_begin(&r->perf, m.launched.pid);
	if (r->native)
		dep_collector_message(r->collector, "%s runs unrecorded: %s", r->o.argv[0],
				      m.launched.why);
	return true;
}

static void done(struct record *r, int ret)
{
	struct recorder_message m = { .kind = RECORDER_DONE, .done = { .ret = ret } };

	m.done.recorded = (struct recorded){
		.processes = r->result.processes, .threads = r->result.threads,
		.raw_bytes = r->result.raw_bytes, .stored_bytes = r->result.stored_bytes,
		.null_bytes = r->result.null_bytes,
		.last_dropped = r->result.last_dropped,
		.last_kept_ns = r->kept_ns,
		.loss = r->ending.loss,
		.failed = r->result.failed, .stopped = r->result.stopped,
		.removed = r->removed,
		.status = r->status,
	};
	recorder_send(r->sock, &m, NULL, 0);
}

/*
 * Record the command.  Return: 0; 1: nothing was recorded, or the store is to be removed; -1: the
 * store is not complete.
 */
static int collect(struct record *r)
{
	struct dep_collect_status st;
	int ret;

	if (prepare(r) || ready(r) || !wait_for_launch(r))
		return 1;
	dep_collector_run(r->collector, DEP_CHILD_OF_OTHER, &ret, tick, r);
	dep_collector_status(r->collector, &st);
	if (r->alone && !r->native && !st.processes)
		return 1;
	ret = finish(r) ? -1 : 0;
	done(r, r->removed ? 0 : ret);
	return r->removed ? 1 : ret;
}

static void clean_up(struct record *r, int ret)
{
	if (r->collector)
		dep_collector_finish(r->collector, &r->ending, NULL);
	if (r->writer)
		dep_writer_discard(r->writer);
	/*
	 * Remove the store if the command never ran, if --keep-if says so, or if it is temporary
	 * and depctl is gone.
	 */
	if (r->store.dirfd >= 0 && (ret > 0 || (r->alone && r->o.temporary)))
		dep_store_remove_open(r->store.dirfd, r->dir);
	dep_session_destroy(&r->session);
}

static void message_came(int sig)
{
	(void)sig;
}

/*
 * Ignore all signals: the collector runs until the recorded programs have ended.  Only SIGIO has a
 * handler: a message from depctl interrupts the collector's sleep.
 */
static void set_up_signals(int sock)
{
	struct f_owner_ex loop = { .type = F_OWNER_TID, .pid = gettid() };
	struct sigaction sa = { .sa_handler = message_came };

	signals_ignore();
	sigaction(SIGIO, &sa, NULL);
	fcntl(sock, F_SETOWN_EX, &loop);
	fcntl(sock, F_SETFL, O_ASYNC);
}

/*
 * Close all descriptors except standard error and the socket.  If this process kept the inherited
 * end of a pipe open, the reader of the pipe would not see its end.
 */
static void close_others(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (sock > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned int)sock - 1, 0);
	close_range((unsigned int)sock + 1, ~0u, 0);
}

void collector_main(const struct record_options *o, const char *dir, int sock)
{
	struct record *r = calloc(1, sizeof(*r));
	int ret;

	setsid();
	prctl(PR_SET_NAME, "depctl-collect");
	close_others(sock);
	set_up_signals(sock);
	if (!r) {
		warn("out of memory");
		_exit(EXIT_FAILURE);
	}
	r->o = *o;
	r->dir = dir;
	r->sock = sock;
	r->session.fd = -1;
	r->store.dirfd = -1;
	r->status = -1;
	ret = collect(r);
	clean_up(r, ret);
	_exit(ret ? EXIT_FAILURE : EXIT_SUCCESS);
}
