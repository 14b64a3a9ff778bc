// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording that depd collects: depctl launches the command, passes signals to it, and reports
 * its wait status to depd.  Or it attaches to a process, and detaches from it at the end.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dep/verdict.h>

#include "libdep/collect/window_recover.h"
#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"
#include "burst.h"
#include "record.h"
#include "depd_session.h"
#include "perf_depd.h"

#define ROUND_MS	50	/* interval between checks for signals and the command's end */
#define ASK_MS		5000	/* interval of requests for the session's state */

/* ---- while it runs ---- */

static uint64_t count(const cJSON *o, const char *name)
{
	double v = client_number(o, name);

	return v > 0 ? (uint64_t)v : 0;
}

static uint32_t reason_of(const char *name)
{
	uint32_t reason = DEP_KEEP_UNKNOWN;

	while (reason < DEP_KEEP_REASONS && strcmp(dep_keep_name(reason), name))
		reason++;
	return reason < DEP_KEEP_REASONS ? reason : DEP_KEEP_UNKNOWN;
}

/* Print a snapshot that depd has made for a trigger. */
static void say_snapshot(struct remote *r, const cJSON *last)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(last, "newest");
	uint32_t made = (uint32_t)count(last, "snapshot_count");
	char text[KEEP_TEXT];
	struct dep_kept k;

	if (made <= r->snapshots)
		return;
	r->snapshots = made;
	k = (struct dep_kept){
		.reason = reason_of(client_string(n, "reason")), .value = count(n, "value"),
		.tid = (uint32_t)count(n, "tid"),
	};
	if (r->o->quiet || k.reason == DEP_KEEP_ASKED)
		return;
	snprintf(k.what, sizeof(k.what), "%s", client_string(n, "what"));
	keep_text(&k, text);
	warn("snapshot %s: %s", client_string(n, "store"), text);
}

static void take_session(struct remote *r, const cJSON *s)
{
	const cJSON *l = cJSON_GetObjectItemCaseSensitive(s, "loss");
	const cJSON *last = cJSON_GetObjectItemCaseSensitive(s, "last");
	const char *error = client_string(s, "error");
	struct recorded *o = r->out;

	*o = (struct recorded){
		.processes = count(s, "process_count"), .threads = count(s, "thread_count"),
		.raw_bytes = count(s, "raw_bytes"), .stored_bytes = count(s, "stored_bytes"),
		.null_bytes = count(s, "null_bytes"),
		.last_dropped = count(last, "dropped_bytes"),
		.last_kept_ns = count(last, "kept_ns"),
		.removed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(s, "is_removed")),
		.failed = *error, .stopped = !strcmp(client_string(s, "cause"), "max_size"),
		.loss = {
			.dropped_chunks = count(l, "dropped_chunks"),
			.dropped_bytes = count(l, "dropped_bytes"),
			.discarded_bytes = count(l, "discarded_bytes"),
			.lost_threads = count(l, "lost_threads"),
			.lost_processes = count(l, "lost_processes"),
			.native_images = count(l, "native_images"),
			.native_privileged = count(l, "native_privileged"),
			.unwanted_children = count(l, "unwanted_children"),
			.absent_chunks = count(l, "absent_chunks"),
			.absent_bytes = count(l, "absent_bytes"),
			.unfinished_threads = count(l, "unfinished_threads"),
			.untaken_threads = count(l, "untaken_threads"),
			.lost_descriptors = count(l, "lost_descriptors"),
			.corrupt = count(l, "corrupt"),
		},
	};
	say_snapshot(r, last);
	if (*error && !r->warned_error) {
		r->warned_error = true;
		warn("recording has stopped%s: %s", r->child_ended ? "" : ", the command goes on",
		     error);
	}
}

static int tell_launched(struct remote *r)
{
	cJSON *q = client_request("launched", r->session);
	int ret;

	cJSON_AddNumberToObject(q, "pid", r->launch.child.pid);
	if (r->o->pid) {
		cJSON_AddNumberToObject(q, "stop_ns", (double)r->launch.cost.stop_ns);
		cJSON_AddNumberToObject(q, "threads", r->launch.cost.threads);
	}
	if (r->launch.child.native) {
		cJSON_AddTrueToObject(q, "native");
		if (r->launch.child.privileged)
			cJSON_AddTrueToObject(q, "privileged");
		cJSON_AddStringToObject(q, "why", r->launch.native.text);
	}
	ret = client_ask(r->c, q);
	r->warned_launched = ret != -EPIPE && ret != -ETIMEDOUT;
	/*
	 * Return only a lost connection.  Ignore other errors: if the session no longer exists, the
	 * "watch" request will fail.
	 */
	return r->warned_launched ? 0 : ret;
}

/* The status of a process that was attached to is not known, and depd does not wait for it. */
static int tell_ended(struct remote *r)
{
	cJSON *q;

	if (r->o->pid)
		return 0;
	q = client_request("ended", r->session);
	cJSON_AddNumberToObject(q, "status", r->status);
	return client_ask(r->c, q);
}

/* Make depd send events about the session. */
static int watch(struct remote *r)
{
	int ret = r->warned_launched ? 0 : tell_launched(r);

	if (!ret)
		ret = client_ask(r->c, client_request("watch", r->session));
	return !ret && r->child_ended ? tell_ended(r) : ret;
}

/* The session has ended, but depd did not report its results: read them from the store. */
static void read_store(struct remote *r)
{
	const struct dep_verdict *v;
	const struct dep_segment *seg;
	const struct dep_process *p;
	const struct dep_thread *t;
	struct recorded *o = r->out;
	struct dep_store *s;
	size_t i, n;

	r->ended = true;
	if (!*r->dir)
		return;
	/* A store that is not wanted is gone when the session has ended. */
	o->removed = r->child_ended && !r->launch.child.native &&
		     !dep_keep_if_met(r->o->keep_if, r->status) && access(r->dir, F_OK) &&
		     errno == ENOENT;
	if (o->removed)
		return;
	o->failed = dep_store_open(&s, r->dir) != 0;
	if (o->failed)
		return;
	o->processes = (uint32_t)dep_store_processes(s, &p);
	o->threads = (uint32_t)dep_store_threads(s, &t);
	n = dep_store_segments(s, &seg);
	for (i = 0; i < n; i++) {
		o->raw_bytes += seg[i].raw_bytes;
		o->stored_bytes += seg[i].stored_bytes;
	}
	o->loss = *dep_store_loss(s);
	v = dep_store_verdict(s);
	/* In state "recording" the store is still open: depd was killed only now. */
	o->failed = v->state == DEP_VERDICT_RECORDING ||
		    (v->state == DEP_VERDICT_INCOMPLETE && v->cause != DEP_CLOSE_ENDED);
	dep_store_close(s);
}

/*
 * depd no longer has the session, so no collector reads the rings.  Set the flag "abandoned" in the
 * session file: programs that wait for room in their rings check the flag once a second, and then
 * continue unrecorded.  Without the flag they would wait until their time limit.
 */
static void let_programs_go(struct remote *r)
{
	if (r->page)
		__atomic_store_n(&r->page->abandoned, 1, __ATOMIC_SEQ_CST);
	r->out->failed = true;
	r->ended = true;
	warn("depd was killed, and the next depd could not go on with the recording; the command "
	     "continues unrecorded");
}

/* Has the process ended, or been detached from? */
static bool has_left(const struct remote *r)
{
	return r->child_ended || r->detaching;
}

/* depd does not know the session: it ended while depctl was disconnected, or it was lost. */
static void session_is_gone(struct remote *r)
{
	if (has_left(r))
		read_store(r);
	else
		let_programs_go(r);
}

static void connection_lost(struct remote *r)
{
	if (r->connected)
		r->lost_ms = client_now_ms();
	r->connected = false;
	client_close(r->c);
}

/*
 * True if depd and depd-holder, which keeps descriptors for the next depd, have died.  Then no
 * process can continue the session.
 */
static bool is_lost(const struct remote *r)
{
	return r->page && adept_session_lost(r->page);
}

/*
 * Give up the session.  If a new depd received the session file before depd-holder died, the new
 * depd continues the session without depctl.
 */
static void lose(struct remote *r)
{
	/* The store is complete if depd closed it before it was killed. */
	read_store(r);
	if (has_left(r) && !r->out->failed)
		return;
	r->out->failed = true;
	warn("depd and depd-holder were killed: recording has ended%s",
	     r->child_ended ? "" : ", the command goes on");
}

static void come_back(struct remote *r)
{
	int ret;

	if (client_open(r->c, r->o->socket)) {
		if (is_lost(r))
			lose(r);
		return;
	}
	ret = watch(r);
	if (!ret) {
		r->connected = true;
		r->asked_ms = client_now_ms();
		r->quiet_ms = 0;
		return;
	}
	connection_lost(r);
	if (ret == -ENOENT)
		session_is_gone(r);
}

static void take_event(struct remote *r)
{
	const cJSON *e = r->c->event;

	if (count(cJSON_GetObjectItemCaseSensitive(e, "session"), "id") != r->session)
		return;
	take_session(r, cJSON_GetObjectItemCaseSensitive(e, "session"));
	r->ended = !strcmp(client_string(e, "event"), "ended");
}

/*
 * Ask for the session's state every ASK_MS.  Without this, depctl would wait forever for events of
 * a depd that is stopped, hangs, or no longer knows the session.
 */
static void ask_for_state(struct remote *r)
{
	uint64_t now = client_now_ms();

	if (r->c->posted || now - r->asked_ms < ASK_MS)
		return;
	r->asked_ms = now;
	if (client_post(r->c, client_request("watch", r->session)))
		connection_lost(r);
}

/* After an attach the terminal shows nothing of the process that would tell that it is recorded. */
static void show_progress(const struct remote *r)
{
	char recorded[16], stored[16];

	if (r->o->pid && !r->o->quiet && !has_left(r) && isatty(STDERR_FILENO))
		warn("process %d: %s recorded, %s stored", r->o->pid,
		     human_size(r->out->raw_bytes, recorded),
		     human_size(r->out->stored_bytes, stored));
}

static void take_state(struct remote *r)
{
	const cJSON *s = cJSON_GetObjectItemCaseSensitive(r->c->answer, "session");

	take_session(r, s);
	r->ended = !strcmp(client_string(s, "state"), "ended");
	if (!r->ended)
		show_progress(r);
}

static void wait_for_event(struct remote *r, unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000l };
	int ret;

	if (r->ended || !r->connected) {
		nanosleep(&pause, NULL);
		if (!r->ended)
			come_back(r);
		return;
	}
	ask_for_state(r);
	if (!r->connected)
		return;
	ret = client_event(r->c, (int)ms);
	if (ret == CLIENT_NOTHING && r->c->posted)
		r->quiet_ms += ms;
	if (ret == CLIENT_NOTHING || ret == -EINTR)
		return;
	r->quiet_ms = 0;
	if (ret == CLIENT_EVENT) {
		take_event(r);
	} else if (ret == CLIENT_ANSWER) {
		take_state(r);
	} else {
		connection_lost(r);
		if (ret == -ENOENT)
			session_is_gone(r);
	}
}

static bool has_ended(const struct remote *r, int *status)
{
	struct pollfd p = { .fd = r->pidfd, .events = POLLIN };

	*status = -1;
	if (r->o->pid)
		return poll(&p, 1, 0) > 0;
	return waitpid(r->launch.child.pid, status, WNOHANG) == r->launch.child.pid &&
	       (WIFEXITED(*status) || WIFSIGNALED(*status));
}

static void look_after_child(struct remote *r)
{
	int status;

	if (r->child_ended || !has_ended(r, &status))
		return;
	r->child_ended = true;
	r->child_ended_ms = client_now_ms();
	r->status = status;
	if (r->connected && !r->ended && tell_ended(r))
		connection_lost(r);
}

/* True if no process is recorded and depd has been unreachable or silent for COME_BACK_MS. */
static bool is_silent(const struct remote *r)
{
	uint64_t since = r->lost_ms > r->child_ended_ms ? r->lost_ms : r->child_ended_ms;

	if (r->ended || !has_left(r))
		return false;
	return r->connected ? r->quiet_ms > COME_BACK_MS : client_now_ms() - since > COME_BACK_MS;
}

/* Stop waiting for depd.  Return: 0 if depd had closed the store before; otherwise -1. */
static int give_up(struct remote *r)
{
	bool hangs = r->connected;

	read_store(r);
	if (!r->out->failed)
		return 0;
	warn("depd %s; %s contains the data stored until then",
	     hangs ? "does not answer" : "has ended", r->dir);
	return -1;
}

/* Has the user asked for the end of the recording, or is the time over? */
static bool is_stopped(struct remote *r)
{
	bool command = !r->child_ended && !r->o->pid;

	if (signals_pass(command ? r->launch.child.pid : 0))
		return true;
	if (!r->stop_ms || client_now_ms() < r->stop_ms)
		return false;
	r->stop_ms = 0;
	return true;
}

/*
 * At the end of an attach: let the processes leave the engine.  depd ends the session when all have
 * left.
 */
static void detach(struct remote *r)
{
	r->detaching = true;
	r->failed = record_detach(&r->launch, r->o, &r->leaving);
}

/* Is depd to stop the session now, although there are recorded processes? */
static bool is_to_end(struct remote *r)
{
	bool stopped = is_stopped(r);

	if (r->leaving.waits) {
		r->leaving.give_up = stopped;
		r->failed = record_detach(&r->launch, r->o, &r->leaving);
		if (r->failed)
			return true;
	}
	if (!stopped)
		return false;
	if (!r->o->pid || has_left(r))
		return true;
	detach(r);
	return r->failed;
}

/* Do not wait for the end of an attached process: it continues after the recording. */
static bool is_over(const struct remote *r)
{
	return r->ended && (r->child_ended || r->o->pid);
}

/* Do what --burst asks for.  Return: time to wait for events. */
static unsigned int next_round(struct remote *r)
{
	if (!r->o->burst || r->ended || has_left(r))
		return ROUND_MS;
	return burst_step(r->o->burst, &r->launch, ROUND_MS);
}

static int run(struct remote *r)
{
	struct client_args a = { .socket = r->o->socket };

	r->asked_ms = client_now_ms();
	if (watch(r))
		connection_lost(r);
	/* Wait for the session and for the command: a user can stop the session first. */
	while (!is_over(r)) {
		look_after_child(r);
		if (is_to_end(r)) {
			if (r->connected && !r->ended)
				ask_depd(r->c, &a, client_request("stop", r->session));
			return r->failed ? -1 : 0;
		}
		wait_for_event(r, next_round(r));
		if (is_silent(r))
			return give_up(r);
	}
	/* The session ended, for example by `depctl stop', and the process goes on unrecorded. */
	if (r->o->pid && (!has_left(r) || r->leaving.waits)) {
		r->leaving.give_up = true;
		detach(r);
	}
	return r->out->failed || r->failed ? -1 : 0;
}

/* depd was killed, and has left the window in files, if it was on the disk. */
static void say_what_is_left(const struct remote *r)
{
	char *dir;

	if (!r->o->last_on_disk || !r->out->failed || !dep_window_is_left(r->dir))
		return;
	dir = quote_command(1, (char *[]){ (char *)r->dir });
	warn("`depctl snapshot %s' makes a store of what was kept", dir ? dir : r->dir);
	free(dir);
}

/* depd goes on with the recording when depctl has ended. */
static int leave_to_depd(struct remote *r)
{
	if (tell_launched(r)) {
		warn("%s; the next depd goes on with session %u", r->c->why, r->session);
		return -1;
	}
	printf("session %u: %s\n", r->session, r->dir);
	return 0;
}

static int launch(struct remote *r, const struct dep_caller_state *native)
{
	int fd = r->fd, ring_fd = r->ring_fd;
	void *page = mmap(NULL, ADEPT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	r->page = page == MAP_FAILED ? NULL : page;
	r->fd = r->ring_fd = -1;
	/* Open the pidfd before the attach: later, the pid could belong to another process. */
	if (r->o->pid)
		r->pidfd = (int)syscall(SYS_pidfd_open, r->o->pid, 0);
	return record_launch(&r->launch, r->o, native, fd, ring_fd, 0);
}

/* Stop a session in which no program ran; depd also removes its store. */
static void drop_session(struct remote *r)
{
	uint64_t until = client_now_ms() + CLIENT_TIMEOUT_MS;

	if (client_ask(r->c, client_request("watch", r->session)) ||
	    client_ask(r->c, client_request("stop", r->session)))
		return;
	while (!r->ended && client_now_ms() < until && client_event(r->c, ROUND_MS) >= 0)
		if (r->c->event)
			take_event(r);
}

int record_by_depd(const struct record_options *o, const struct dep_caller_state *native,
		   struct client *c, struct recorded *out)
{
	struct remote *r = calloc(1, sizeof(*r));
	int ret = 1;

	if (!r) {
		warn("out of memory");
		return ret;
	}
	*r = (struct remote){ .o = o, .c = c, .fd = -1, .ring_fd = -1, .pidfd = -1,
			      .launch.target.fd = -1, .status = -1, .out = out };
	ret = depd_session_make(r);
	if (ret) {
		ret = ret == -EXDEV && !depd_is_needed(o) ? RECORD_ELSEWHERE : 1;
		goto out;
	}
	record_races_tail(o->live_races, r->fd);
	if (signals_catch() || launch(r, native)) {
		drop_session(r);
		out->not_run = r->launch.not_run;
		ret = 1;
		goto out;
	}
	if (!r->launch.child.native)
		perf_begin_depd(o, c->path, r->session, r->launch.child.pid);
	r->stop_ms = o->for_ns ? client_now_ms() + o->for_ns / 1000000 : 0;
	if (o->burst)
		burst_begin(o->burst);
	ret = o->background ? leave_to_depd(r) : run(r);
	out->status = r->status;
	if (!o->background)
		record_summary(o, r->dir, out);
	say_what_is_left(r);

out:
	if (o->pid)
		record_launch_end(&r->launch);
	if (r->pidfd >= 0)
		close(r->pidfd);
	if (r->page)
		munmap(r->page, ADEPT_PAGE);
	if (r->fd >= 0)
		close(r->fd);
	if (r->ring_fd >= 0)
		close(r->ring_fd);
	free(r);
	return ret;
}
