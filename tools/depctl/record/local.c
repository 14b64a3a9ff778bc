// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl's part of a recording without depd: start the collector, launch the command, pass signals.
 * recorder.h shows how the processes work together.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "burst.h"
#include "recorder.h"

#define ROUND_MS	1000	/* timeout of poll(), in case an event does not wake it */
#define STOP_ROUND_MS	10	/* timeout of poll() if the recording ends at a certain time */

struct front {
	const struct record_options *o;
	char dir[PATH_MAX];
	pid_t collector;	/* 0: the collector has ended and its status was collected */
	int sock;
	struct record_launch launch;
	int pidfd;		/* pidfd of the attached process; -1: the command is a child */
	uint64_t stop_ns;	/* when recording ends, by the monotonic clock; 0: no limit */
	bool child_ended, done;
	bool detaching;		/* the processes leave the engine, or have left it */
	struct record_leaving leaving;
	int failed;		/* number of processes that could not be detached from */
	int status;		/* wait() status of the command */
	int ret;
	struct recorded *out;
};

static int start_collector(struct front *f)
{
	int pair[2];

	if (!(f->o->flags & ADEPT_S_NO_RECORD))
		record_dir(f->o, f->dir, sizeof(f->dir));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		warn("the collector cannot be started: %s", strerror(errno));
		return -1;
	}
	fflush(NULL);
	f->collector = fork();
	if (!f->collector)
		collector_main(f->o, f->dir, pair[1]);
	if (f->collector < 0)
		warn("the collector cannot be started: %s%s", strerror(errno),
		     errno == EAGAIN ? "; see `ulimit -u'" : "");
	close(pair[1]);
	f->sock = pair[0];
	return f->collector < 0 ? -1 : 0;
}

/* Wait for the end of the collector.  Return: its wait() status; 0: not known. */
static int wait_for_collector(struct front *f)
{
	int status = 0;

	close(f->sock);
	f->sock = -1;
	if (f->collector <= 0)
		return 0;
	while (waitpid(f->collector, &status, 0) < 0 && errno == EINTR)
		;
	f->collector = 0;
	return status;
}

/* Report that the collector was killed.  If it ended by itself, it has printed the reason. */
static void collector_failed(struct front *f)
{
	int status = wait_for_collector(f);

	if (WIFSIGNALED(status))
		warn("the collector was killed by signal %d", WTERMSIG(status));
}

static int tell_launched(struct front *f)
{
	struct recorder_message m = { .kind = RECORDER_LAUNCHED };

	m.launched.pid = f->launch.child.pid;
	m.launched.native = f->launch.child.native;
	m.launched.privileged = f->launch.child.privileged;
	snprintf(m.launched.why, sizeof(m.launched.why), "%s", f->launch.native.text);
	return recorder_send(f->sock, &m, NULL, 0);
}

static void tell_ended(struct front *f)
{
	const struct recorder_message m = {
		.kind = RECORDER_ENDED, .ended = { .status = f->status },
	};

	recorder_send(f->sock, &m, NULL, 0);
}

/* No command was launched: make the collector remove the store. */
static void give_up(struct front *f)
{
	const struct recorder_message m = { .kind = RECORDER_NOT_LAUNCHED };

	recorder_send(f->sock, &m, NULL, 0);
	wait_for_collector(f);
}

static int begin(struct front *f, const struct dep_caller_state *native)
{
	struct recorder_message m;
	int fds[2];

	if (start_collector(f))
		return -1;
	if (recorder_receive(f->sock, &m, fds, 0) || m.kind != RECORDER_READY) {
		collector_failed(f);
		return -1;
	}
	record_races_tail(f->o->live_races, fds[0]);
	/* Open the pidfd before the attach: later, the pid could belong to another process. */
	if (f->o->pid)
		f->pidfd = (int)syscall(SYS_pidfd_open, f->o->pid, 0);
	if (signals_catch() ||
	    record_launch(&f->launch, f->o, native, fds[0], fds[1], m.ready.ptracer)) {
		give_up(f);
		return -1;
	}
	tell_launched(f);
	return 0;
}

/* ---- while it runs ---- */

static void collector_lost(struct front *f)
{
	int status = wait_for_collector(f);

	f->ret = -1;
	if (WIFSIGNALED(status))
		warn("the collector was killed by signal %d: recording has ended%s",
		     WTERMSIG(status), f->child_ended ? "" : ", the command goes on");
	else
		warn("the collector has ended with status %d: recording has ended%s",
		     WEXITSTATUS(status), f->child_ended ? "" : ", the command goes on");
}

static void listen_to_collector(struct front *f)
{
	struct recorder_message m;
	int ret;

	while (f->sock >= 0) {
		ret = recorder_receive(f->sock, &m, NULL, MSG_DONTWAIT);
		if (ret == -EAGAIN)
			return;
		if (ret && !f->done)
			collector_lost(f);
		else if (ret)
			wait_for_collector(f);
		if (ret || m.kind != RECORDER_DONE)
			continue;
		f->done = true;
		f->ret = m.done.ret;
		*f->out = m.done.recorded;
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The exit status of an attached process is not known, since it is not a child of depctl. */
static bool has_ended(const struct front *f, int *status)
{
	struct pollfd p = { .fd = f->pidfd, .events = POLLIN };

	if (!f->o->pid)
		return waitpid(f->launch.child.pid, status, WNOHANG) == f->launch.child.pid;
	*status = -1;
	return poll(&p, 1, 0) > 0;
}

static void look_after_child(struct front *f)
{
	int status;

	if (f->child_ended || !has_ended(f, &status))
		return;
	f->child_ended = true;
	f->status = status;
	if (f->sock >= 0)
		tell_ended(f);
}

/* Do not wait for the end of an attached process: it continues after the recording. */
static bool is_over(const struct front *f)
{
	return f->sock < 0 && (f->child_ended || f->o->pid);
}

/* Has the user asked for the end of the recording, or is the time over? */
static bool is_stopped(struct front *f)
{
	bool command = !f->child_ended && !f->o->pid;

	if (signals_pass(command ? f->launch.child.pid : 0))
		return true;
	if (!f->stop_ns || now_ns() < f->stop_ns)
		return false;
	f->stop_ns = 0;
	return true;
}

/*
 * At the end of an attach: let the processes leave the engine.  The collector ends by itself when
 * all have left.
 */
static void detach(struct front *f)
{
	f->detaching = true;
	f->failed = record_detach(&f->launch, f->o, &f->leaving);
	tell_ended(f);
}

/* Is the collector to end now, although there are recorded processes? */
static bool is_to_end(struct front *f)
{
	bool stopped = is_stopped(f);

	if (f->leaving.waits) {
		f->leaving.give_up = stopped;
		f->failed = record_detach(&f->launch, f->o, &f->leaving);
		return stopped || f->failed;
	}
	if (stopped && f->o->pid && !f->child_ended && !f->detaching) {
		detach(f);
		return f->failed;
	}
	return stopped;
}

/* Do what --burst asks for.  Return: timeout of poll(). */
static int next_round(struct front *f)
{
	unsigned int ms = f->stop_ns ? STOP_ROUND_MS : ROUND_MS;

	if (f->o->burst && !f->child_ended && !f->detaching && f->sock >= 0)
		ms = burst_step(f->o->burst, &f->launch, ms);
	return (int)ms;
}

static void run(struct front *f)
{
	const struct recorder_message stop = { .kind = RECORDER_STOP };
	struct pollfd p[3] = {
		{ .fd = signals_fd(), .events = POLLIN }, { .events = POLLIN },
		{ .fd = f->pidfd, .events = POLLIN },
	};

	while (!is_over(f)) {
		look_after_child(f);
		if (f->sock >= 0 && is_to_end(f))
			recorder_send(f->sock, &stop, NULL, 0);
		listen_to_collector(f);
		if (is_over(f))
			break;
		p[1].fd = f->sock;
		p[2].fd = f->child_ended ? -1 : f->pidfd;
		poll(p, 3, next_round(f));
	}
}

int record_here(const struct record_options *o, const struct dep_caller_state *native,
		struct recorded *out)
{
	struct front f = { .o = o, .sock = -1, .pidfd = -1, .status = -1, .out = out };

	if (begin(&f, native)) {
		out->not_run = f.launch.not_run;
		return 1;
	}
	f.stop_ns = o->for_ns ? now_ns() + o->for_ns : 0;
	if (o->burst)
		burst_begin(o->burst);
	run(&f);
	out->status = f.status;
	if (o->pid)
		record_launch_end(&f.launch);
	if (f.done)
		record_summary(o, f.dir, out);
	return f.failed ? -1 : f.ret;
}
