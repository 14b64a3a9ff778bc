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
#include <sys/wait.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "recorder.h"

#define ROUND_MS	1000	/* timeout of poll(), in case an event does not wake it */

struct front {
	const struct record_options *o;
	char dir[PATH_MAX];
	pid_t collector;	/* 0: the collector has ended and its status was collected */
	int sock;
	struct record_launch launch;
	bool child_ended, done;
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

static void look_after_child(struct front *f)
{
	int status;

	if (f->child_ended ||
	    waitpid(f->launch.child.pid, &status, WNOHANG) != f->launch.child.pid)
		return;
	f->child_ended = true;
	f->status = status;
	if (f->sock >= 0)
		tell_ended(f);
}

static void run(struct front *f)
{
	const struct recorder_message stop = { .kind = RECORDER_STOP };
	struct pollfd p[2] = { { .fd = signals_fd(), .events = POLLIN }, { .events = POLLIN } };

	while (f->sock >= 0 || !f->child_ended) {
		look_after_child(f);
		if (signals_pass(f->child_ended ? 0 : f->launch.child.pid) && f->sock >= 0)
			recorder_send(f->sock, &stop, NULL, 0);
		listen_to_collector(f);
		if (f->sock < 0 && f->child_ended)
			break;
		p[1].fd = f->sock;
		poll(p, 2, ROUND_MS);
	}
}

int record_here(const struct record_options *o, const struct dep_caller_state *native,
		struct recorded *out)
{
	struct front f = { .o = o, .sock = -1, .status = -1, .out = out };

	if (begin(&f, native)) {
		out->not_run = f.launch.not_run;
		return 1;
	}
	run(&f);
	out->status = f.status;
	if (f.done)
		record_summary(o, f.dir, out);
	return f.ret;
}
