// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depd's side of the tracer: requests, outcomes, heartbeat, and restart.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdep/collect/module_session.h"
#include "daemon/base/log.h"
#include "tracer.h"
#include "tracer_msg.h"

#define WAIT_MS		(TRACER_FINISH_MS + 1000)	/* timeout for an earlier tracer to end */
#define ROUND		64				/* messages handled in one call */
/* Delay before a new tracer is started: OFTEN_NS if the last one ran for less than OFTEN_NS. */
#define AGAIN_NS	10000000ull
#define OFTEN_NS	1000000000ull

struct tracer {
	struct depd *d;
	void (*attached)(struct session *s, int ret, const char *why);
	struct tracer_line line;
	struct loop_watch ready;
	struct loop_timer again, heartbeat;
	unsigned int beats;	/* unanswered heartbeats */
	pid_t pid;		/* the tracer's pid; 0: no process, and none to reap */
	uint64_t start_ns;
	bool works;		/* the tracer is ready: TRACER_HELLO was received */
	bool broken;		/* the last tracer ended before TRACER_HELLO: refuse requests */
};

static const char lost[] = "the tracer ended before it could attach";

static void resolve_line(struct tracer *t)
{
	loop_watch_change(t->d->loop, &t->ready,
			  POLLIN | (tracer_line_waits(&t->line) ? POLLOUT : 0));
}

static int tell(struct tracer *t, const struct tracer_msg *m, const int *fds, int n)
{
	bool waits = tracer_line_waits(&t->line);
	int ret = tracer_line_send(&t->line, m, fds, n);

	if (waits != tracer_line_waits(&t->line))
		resolve_line(t);
	/* -EPIPE, the tracer has ended: ready() notices, and requests are sent again. */
	return ret == -EPIPE ? 0 : ret;
}

/* ---- requests to the tracer ---- */

int tracer_add(struct session *s)
{
	struct tracer_msg m = {
		.op = TRACER_ADD, .session = s->id, .layout = s->ring.layout,
		.base = s->target.base,
	};
	int fds[TRACER_FDS] = { s->ring.fd, s->target.ring_fd };
	int ret = tell(s->d->tracer, &m, fds, s->target.ring_fd >= 0 ? 2 : 1);

	s->traced = !ret;
	return ret;
}

void tracer_remove(struct session *s)
{
	struct tracer_msg m = { .op = TRACER_REMOVE, .session = s->id };

	if (s->traced)
		tell(s->d->tracer, &m, NULL, 0);
	s->traced = false;
}

int tracer_attach(struct session *s, const struct dep_pending *who)
{
	struct tracer_msg m = {
		.op = TRACER_ATTACH, .session = s->id, .pid = who->pid, .cause = ADEPT_BY_LAUNCH,
		.has_uid = who->has_uid, .uid = who->uid, .start_ns = who->start_ns,
	};
	int ret = tell(s->d->tracer, &m, NULL, 0);

	if (!ret)
		s->attaching = who->pid;
	return ret;
}

static int ask(struct session *s, uint32_t slot)
{
	struct tracer_msg m = { .op = TRACER_BEGIN, .session = s->id, .slot = slot };

	return tell(s->d->tracer, &m, NULL, 0);
}

static int begin(void *arg, struct dep_session *ring, uint32_t slot)
{
	struct session *s = arg;
	int ret = s->d->tracer->broken ? -EPIPE : ask(s, slot);

	(void)ring;
	if (ret) {
		dep_follow_exec_refuse(&s->target, slot);
		return ret;
	}
	s->exec[slot] = (struct session_exec){ .asked = true, .outcome = DEP_EXEC_PENDING };
	return 0;
}

static enum dep_exec_outcome outcome(void *arg, struct dep_session *ring, uint32_t slot)
{
	struct session *s = arg;

	(void)ring;
	return s->exec[slot].outcome;
}

struct dep_exec_ops tracer_ops(struct session *s)
{
	return (struct dep_exec_ops){ .begin = begin, .poll = outcome, .arg = s };
}

/* ---- answers of the tracer ---- */

static void settle(struct session *s, uint32_t slot, enum dep_exec_outcome o)
{
	s->exec[slot] = (struct session_exec){ .outcome = o };
	if (s->state != SESSION_ENDED)
		loop_timer_set(s->d->loop, &s->step, 0, 0);
}

static void report_outcome(struct session *s, const struct tracer_msg *m)
{
	bool native = m->outcome == DEP_EXEC_REFUSED || m->outcome == DEP_EXEC_RUNS_NATIVE ||
		      m->outcome == DEP_EXEC_CHILD_RUNS_NATIVE;

	if (!s->exec || m->slot >= s->ring.layout.nprocs || !s->exec[m->slot].asked)
		return;
	/* Write the refusal into the session file, in case the tracer could not. */
	if (m->outcome == DEP_EXEC_REFUSED && s->collector)
		dep_follow_exec_refuse(&s->target, m->slot);
	if (native && s->collector)
		dep_collector_message(s->collector, "process %d runs unrecorded: %s", m->pid,
				      m->why.text);
	settle(s, m->slot, m->outcome);
}

static void handle(struct tracer *t, struct tracer_msg *m)
{
	struct session *s = session_find(t->d, m->session);

	t->beats = 0;
	m->why.text[DEP_WHY_SIZE - 1] = '\0';
	if (m->op == TRACER_HELLO) {
		t->works = true;
		t->broken = false;
	}
	if (!s)
		return;
	if (m->op == TRACER_OUTCOME) {
		report_outcome(s, m);
	} else if (m->op == TRACER_ATTACHED && s->attaching == m->pid) {
		if (!m->result)
			session_joined(s, &m->base);
		t->attached(s, m->result, m->why.text);
	}
}

/* Handle messages of the tracer.  Return: -EPIPE: the tracer has ended. */
static int receive(struct tracer *t)
{
	int fds[TRACER_FDS], i, k, ret = 0;
	struct tracer_msg m;

	for (i = 0; i < ROUND && !ret; i++) {
		ret = tracer_line_receive(&t->line, &m, fds);
		for (k = 0; k < TRACER_FDS; k++)
			if (fds[k] >= 0)
				close(fds[k]);
		if (!ret)
			handle(t, &m);
	}
	return ret;
}

/* ---- end of a tracer, and start of the next ---- */

/*
 * Resolve a request to follow an execve that the ended tracer has not answered.  If the tracer had
 * not begun it, the next tracer gets the request; if no tracer works, the request is refused.
 */
static void resolve_slot(struct session *s, uint32_t slot)
{
	switch (dep_follow_exec_lost(&s->target, slot)) {
	case ADEPT_EXEC_REQUEST:
		if (!s->d->tracer->broken)
			break;
		dep_follow_exec_refuse(&s->target, slot);
		settle(s, slot, DEP_EXEC_REFUSED);
		break;
	case ADEPT_EXEC_READY:
		dep_collector_message(s->collector, "the program that process %u has executed may "
				      "run unrecorded: the tracer has ended",
				      dep_session_proc(&s->ring, slot)->pid);
		settle(s, slot, DEP_EXEC_REFUSED);
		break;
	case ADEPT_EXEC_NATIVE:
	case ADEPT_EXEC_FAILED:
		settle(s, slot, DEP_EXEC_REFUSED);
		break;
	default:
		settle(s, slot, DEP_EXEC_CANCELLED);
	}
}

static void resolve_session(struct session *s)
{
	uint32_t i;

	s->traced = false;
	if (s->attaching)
		s->d->tracer->attached(s, -EPIPE, lost);
	if (s->collector)
		adept_following_lost(s->ring.map);
	for (i = 0; s->collector && i < s->ring.layout.nprocs; i++)
		if (s->exec[i].asked)
			resolve_slot(s, i);
}

static void has_ended(struct tracer *t)
{
	struct session *s;

	loop_remove(t->d->loop, &t->ready);
	tracer_line_close(&t->line);
	log_msg(LOG_ERR, 0, "the tracer, process %d, has ended: programs whose execve it followed "
		"run unrecorded; starting another tracer", t->pid);
	kill(t->pid, SIGKILL);
	t->broken = !t->works;
	for (s = t->d->sessions; s; s = s->next)
		resolve_session(s);
	loop_timer_set(t->d->loop, &t->again, loop_now() - t->start_ns < OFTEN_NS ? OFTEN_NS :
		       AGAIN_NS, 0);
}

static void ready(struct loop_watch *w, short revents)
{
	struct tracer *t = (struct tracer *)((char *)w - offsetof(struct tracer, ready));

	if (revents & POLLOUT) {
		tracer_line_flush(&t->line);
		resolve_line(t);
	}
	if (receive(t) == -EPIPE)
		has_ended(t);
}

/*
 * Read messages before a heartbeat counts as missed, since depd itself could have been stopped for
 * a while.  Before TRACER_HELLO the tracer waits for an earlier tracer and cannot answer.
 */
static void heartbeat_due(struct loop_timer *timer)
{
	struct tracer *t = (struct tracer *)((char *)timer - offsetof(struct tracer, heartbeat));
	struct tracer_msg m = { .op = TRACER_HEARTBEAT };

	if (t->line.sock < 0)
		return;
	if (receive(t) == -EPIPE) {
		has_ended(t);
		return;
	}
	if (!t->works)
		return;
	if (t->beats < TRACER_BEATS)
		tell(t, &m, NULL, 0);
	if (t->beats++ != TRACER_BEATS)
		return;
	log_msg(LOG_ERR, 0, "the tracer, process %d, has not answered for %d seconds: it is killed",
		t->pid, TRACER_BEATS * TRACER_HEARTBEAT_MS / 1000);
	/* The end of the process closes the socket, which ready() handles. */
	kill(t->pid, SIGKILL);
}

static int start(struct tracer *t)
{
	pid_t pid = tracer_start(t->d->rundir, &t->line.sock);
	int ret;

	if (pid < 0)
		return pid;
	t->pid = pid;
	t->start_ns = loop_now();
	t->works = false;
	t->beats = 0;
	ret = loop_watch_add(t->d->loop, &t->ready, t->line.sock, POLLIN);
	if (ret)
		tracer_line_close(&t->line);
	return ret;
}

static void ask_again(struct session *s)
{
	uint32_t i;

	if (!s->collector || tracer_add(s))
		return;
	for (i = 0; i < s->ring.layout.nprocs; i++)
		if (s->exec[i].asked)
			ask(s, i);
}

static void again_due(struct loop_timer *timer)
{
	struct tracer *t = (struct tracer *)((char *)timer - offsetof(struct tracer, again));
	struct session *s;
	int ret;

	if (t->pid && !waitpid(t->pid, NULL, WNOHANG)) {
		loop_timer_set(t->d->loop, &t->again, AGAIN_NS, 0);
		return;
	}
	t->pid = 0;
	ret = start(t);
	if (ret) {
		log_msg(LOG_ERR, 0, "cannot start the tracer: %s", strerror(-ret));
		t->broken = true;
		for (s = t->d->sessions; s; s = s->next)
			resolve_session(s);
		loop_timer_set(t->d->loop, &t->again, OFTEN_NS, 0);
		return;
	}
	for (s = t->d->sessions; s; s = s->next)
		ask_again(s);
}

/* Wait for TRACER_HELLO: an earlier tracer can still be finishing its work. */
static int wait_for_hello(struct tracer *t)
{
	struct pollfd p = { .fd = t->line.sock, .events = POLLIN };
	int fds[TRACER_FDS], n;
	struct tracer_msg m;

	do {
		n = poll(&p, 1, WAIT_MS);
	} while (n < 0 && errno == EINTR);
	if (!n) {
		log_msg(LOG_WARNING, 0,
			"the tracer of an earlier depd does not end; continuing without it");
		return 0;
	}
	n = tracer_line_receive(&t->line, &m, fds);
	if (!n)
		handle(t, &m);
	return n;
}

int tracer_open(struct depd *d, void (*attached)(struct session *s, int ret, const char *why))
{
	struct tracer *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	t->d = d;
	t->attached = attached;
	t->line.sock = -1;
	t->ready.ready = ready;
	t->again.due = again_due;
	t->heartbeat.due = heartbeat_due;
	d->tracer = t;
	loop_timer_set(d->loop, &t->heartbeat, TRACER_HEARTBEAT_MS * 1000000ull,
		       TRACER_HEARTBEAT_MS * 1000000ull);
	ret = start(t);
	return ret ? ret : wait_for_hello(t);
}

void tracer_close(struct depd *d)
{
	struct tracer *t = d->tracer;

	if (!t)
		return;
	loop_timer_cancel(d->loop, &t->again);
	loop_timer_cancel(d->loop, &t->heartbeat);
	loop_remove(d->loop, &t->ready);
	tracer_line_close(&t->line);
	d->tracer = NULL;
	free(t);
}

pid_t tracer_pid(const struct depd *d)
{
	return d->tracer->pid;
}
