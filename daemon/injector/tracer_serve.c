// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The injector process (tracer).  It has one thread, since ptrace(2) binds a traced process to a
 * thread of the tracer.  It waits only for processes that it traces, at most for milliseconds.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tracer.h"
#include "tracer_msg.h"

#define ROUND		16	/* messages handled in one call */
#define TICK_MS		1	/* polling interval, for failed execves; SIGCHLD reports the rest */
#define SLOW_TICK_MS	20
#define SLOW_NS		1000000000ull	/* poll slowly if no execve began within this time */

/** struct served - a session that depd has registered */
struct served {
	struct served *next;
	uint32_t id;
	struct dep_target target;
	size_t mapped;
	unsigned int follows;
	bool removed;		/* depd has removed it; freed when @follows is 0 */
};

/** struct following - an execve that is being followed, so that the new program is recorded */
struct following {
	struct following *next;
	struct served *s;
	struct dep_follow f;
};

static struct tracer_line line;
static struct served *sessions;
static struct following *follows;
static uint64_t followed_ns;	/* time when the latest execve was begun */
static pid_t depd_pid;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* ---- sessions ---- */

static struct served *find(uint32_t id)
{
	struct served *s;

	for (s = sessions; s && (s->id != id || s->removed); s = s->next)
		;
	return s;
}

static void free_session(struct served *s)
{
	struct served **at = &sessions;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	munmap(s->target.session, s->mapped);
	close(s->target.fd);
	if (s->target.ring_fd >= 0)
		close(s->target.ring_fd);
	free(s);
}

/* Register a session.  On failure, later requests for the session fail and depd is notified. */
static void add(const struct tracer_msg *m, int fd, int ring_fd)
{
	struct served *s = calloc(1, sizeof(*s));
	size_t size = m->layout.desc_off;
	void *map = MAP_FAILED;

	if (s && fd >= 0 && size >= sizeof(m->layout))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		goto fail;
	if (dep_target_adopt(&s->target, map, &m->layout, fd, NULL)) {
		munmap(map, size);
		goto fail;
	}
	s->target.base = m->base;
	s->target.ring_fd = ring_fd;
	s->target.collector = depd_pid;
	s->mapped = size;
	s->id = m->session;
	s->next = sessions;
	sessions = s;
	return;
fail:
	free(s);
	if (fd >= 0)
		close(fd);
	if (ring_fd >= 0)
		close(ring_fd);
}

static void remove_session(uint32_t id)
{
	struct served *s = find(id);

	if (!s)
		return;
	s->removed = true;
	if (!s->follows)
		free_session(s);
}

/* ---- following execve ---- */

static void tell(uint32_t session, uint32_t slot, enum dep_exec_outcome o, pid_t pid,
		 const struct dep_why *why)
{
	struct tracer_msg m = {
		.op = TRACER_OUTCOME, .session = session, .slot = slot, .outcome = o, .pid = pid,
	};

	if (why)
		m.why = *why;
	/* This fails if depd has ended; the session file has all that the next depd needs. */
	tracer_line_send(&line, &m, NULL, 0);
}

static void begin(const struct tracer_msg *m)
{
	struct dep_why why = { "the tracer is out of memory" };
	struct served *s = find(m->session);
	struct following *f = s ? calloc(1, sizeof(*f)) : NULL;
	int ret;

	if (!f) {
		if (s)
			dep_follow_exec_refuse(&s->target, m->slot);
		tell(m->session, m->slot, DEP_EXEC_REFUSED, 0, &why);
		return;
	}
	*why.text = '\0';
	ret = dep_follow_exec_begin(&f->f, &s->target, m->slot, &why);
	if (ret) {
		tell(m->session, m->slot, ret == -ESRCH ? DEP_EXEC_DEAD : DEP_EXEC_REFUSED,
		     f->f.pid, &why);
		free(f);
		return;
	}
	f->s = s;
	s->follows++;
	f->next = follows;
	follows = f;
	followed_ns = now_ns();
}

/* Continue to follow an execve.  Return: true: finished. */
static bool go_on(struct following *f)
{
	struct dep_why why = { "" };
	struct dep_injected out;
	enum dep_exec_outcome o = dep_exec_poll(&f->f, &f->s->target, &out, &why);

	if (o == DEP_EXEC_PENDING)
		return false;
	tell(f->s->id, f->f.slot, o, out.pid, &why);
	return true;
}

static void go_on_all(void)
{
	struct following **at = &follows, *f;

	while ((f = *at)) {
		if (!go_on(f)) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		if (!--f->s->follows && f->s->removed)
			free_session(f->s);
		free(f);
	}
}

/* ---- attaching to pending processes ---- */

static void take(const struct tracer_msg *m)
{
	struct tracer_msg answer = {
		.op = TRACER_ATTACHED, .session = m->session, .pid = m->pid, .result = -ENOENT,
	};
	const struct dep_pending who = {
		.pid = m->pid, .has_uid = m->has_uid, .uid = m->uid, .start_ns = m->start_ns,
	};
	struct served *s = find(m->session);
	struct dep_injected out = { 0 };

	if (s) {
		answer.result = dep_attach(&s->target, &who, m->cause, &out, &answer.why);
		answer.slot = out.proc;
		answer.serial = out.serial;
		/* Keep the process's privileges, with which later execves are compared. */
		if (!answer.result)
			answer.base = s->target.base = out.base;
	}
	tracer_line_send(&line, &answer, NULL, 0);
}

/* ---- the loop ---- */

static void handle(const struct tracer_msg *m, const int *fds)
{
	switch (m->op) {
	case TRACER_ADD:
		add(m, fds[0], fds[1]);
		break;
	case TRACER_REMOVE:
		remove_session(m->session);
		break;
	case TRACER_BEGIN:
		begin(m);
		break;
	case TRACER_ATTACH:
		take(m);
		break;
	case TRACER_HEARTBEAT:
		tracer_line_send(&line, m, NULL, 0);
		break;
	}
}

/* Handle messages of depd.  Return: -EPIPE: depd has ended. */
static int receive(void)
{
	int fds[TRACER_FDS], i, ret = 0;
	struct tracer_msg m;

	for (i = 0; i < ROUND && !ret; i++) {
		ret = tracer_line_receive(&line, &m, fds);
		if (!ret)
			handle(&m, fds);
	}
	return ret;
}

static int wait_ms(void)
{
	if (!follows)
		return -1;
	return now_ns() - followed_ns < SLOW_NS ? TICK_MS : SLOW_TICK_MS;
}

static void serve(int signals)
{
	struct pollfd p[] = { { .fd = line.sock }, { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo si;

	for (;;) {
		p[0].events = POLLIN | (tracer_line_waits(&line) ? POLLOUT : 0);
		poll(p, 2, wait_ms());
		if (p[1].revents)
			while (read(signals, &si, sizeof(si)) > 0)
				;
		if (p[0].revents & POLLOUT)
			tracer_line_flush(&line);
		if (p[0].revents && receive() == -EPIPE)
			return;
		go_on_all();
	}
}

static void finish(int signals)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	uint64_t until = now_ns() + TRACER_FINISH_MS * 1000000ull;
	struct signalfd_siginfo si;

	for (go_on_all(); follows && now_ns() < until; go_on_all()) {
		poll(&p, 1, TICK_MS);
		while (read(signals, &si, sizeof(si)) > 0)
			;
	}
}

void tracer_loop(int sock)
{
	struct tracer_msg hello = { .op = TRACER_HELLO };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	sigset_t set;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0 || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return;
	depd_pid = peer.pid;
	line.sock = sock;
	if (tracer_line_send(&line, &hello, NULL, 0))
		return;
	serve(signals);
	finish(signals);
}
