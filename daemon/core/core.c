// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Start, run and shut down a depd that has sessions: a user's own depd or an instance.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdep/collect/write_queue.h"
#include "auto_record.h"
#include "core.h"
#include "reload.h"
#include "daemon/live/live_analysis.h"
#include "daemon/policy/options.h"
#include "daemon/sessions/session_files.h"
#include "daemon/base/sd_notify.h"
#include "daemon/base/log.h"
#include "daemon/sessions/session.h"
#include "daemon/base/signals.h"
#include "daemon/injector/tracer.h"
#include "daemon/retention/retention.h"
#include "daemon/retention/temporary.h"

#define RETENTION_NS	60000000000ull
#define FIRST_CLIENT_NS	10000000000ull	/* with depd.once: how long the first client may take */
#define SHUTDOWN_NS	30000000000ull	/* time for shutdown; extended while data is stored */

static struct depd *depd;
static struct loop_watch signal_ready;
static int exit_status;

/* ---- retention ---- */

static void retention_due(struct loop_timer *t)
{
	struct depd *d = (struct depd *)((char *)t - offsetof(struct depd, retention));
	struct retention_result r = { 0 };
	int ret;

	if (!d->config.store || (!d->config.max_store && !d->config.max_age_s))
		return;
	ret = retention_run(d->config.store, d->config.max_store, d->config.max_age_s, &r);
	/* An instance has no directory for stores until a rule records a process of its user. */
	if (ret && !(ret == -ENOENT && d->front))
		log_msg(LOG_ERR, 0, "cannot apply retention to stores in %s: %s", d->config.store,
			r.why);
	d->removed += r.removed;
	d->removed_bytes += r.removed_bytes;
	if (r.removed)
		log_msg(LOG_NOTICE, 0, "removed %llu old stores, %llu bytes",
			(unsigned long long)r.removed, (unsigned long long)r.removed_bytes);
}

/* ---- signals and shutdown ---- */

/* Once no session is open, return free heap memory to the kernel; malloc() would keep it. */
static void give_back_memory(struct depd *d, uint32_t open)
{
	uint64_t had = d->begun + d->adopted;

	if (open || d->trimmed == had)
		return;
	malloc_trim(0);
	d->trimmed = had;
}

/* With d->once: is depd not needed any more?  The first client may need some time to come. */
static bool is_over(const struct depd *d, uint32_t open)
{
	uint64_t requests, refused;

	if (!d->once || open || control_clients(d->control))
		return false;
	control_requests(d->control, &requests, &refused);
	return requests || loop_now() - d->start_ns > FIRST_CLIENT_NS;
}

/* Is there a session that keeps its newest part in memory, so that no other depd can adopt it? */
static bool has_windows(const struct depd *d)
{
	const struct session *s;

	for (s = d->sessions; s; s = s->next)
		if (s->last_bytes && s->state != SESSION_ENDED)
			return true;
	return false;
}

static void alive_due(struct loop_timer *t)
{
	struct depd *d = (struct depd *)((char *)t - offsetof(struct depd, alive));
	uint32_t open = 0;
	struct session *s;

	for (s = d->sessions; s; s = s->next)
		open += s->state != SESSION_ENDED;
	give_back_memory(d, open);
	if (d->front)
		d->front->second(d, open);
	notify_alive();
	if (is_over(d, open))
		loop_end(d->loop);
	if (!d->shutting_down) {
		notify_status("%u sessions", open);
		return;
	}
	notify_extend(SHUTDOWN_NS);
	if (!open || (d->handing_over && !has_windows(d)))
		loop_end(d->loop);
}

void core_shut_down(struct depd *d)
{
	struct session *s;

	if (d->shutting_down) {
		loop_end(d->loop);
		return;
	}
	d->shutting_down = true;
	notify_stopping();
	policy_stop(d);
	for (s = d->sessions; s; s = s->next)
		session_end(s, DEP_CLOSE_SHUTDOWN, NULL);
	loop_timer_set(d->loop, &d->alive, 0, 20000000);
}

void core_hand_over(struct depd *d)
{
	exit_status = EXIT_HAND_OVER;
	d->shutting_down = true;
	loop_end(d->loop);
}

/* End the sessions that cannot be handed over, and then hand over the others. */
static void end_windows(struct depd *d)
{
	struct session *s;

	exit_status = EXIT_HAND_OVER;
	d->shutting_down = d->handing_over = true;
	for (s = d->sessions; s; s = s->next)
		if (s->last_bytes)
			session_end(s, DEP_CLOSE_SHUTDOWN, NULL);
	loop_timer_set(d->loop, &d->alive, 0, 20000000);
}

static void signal_arrived(struct loop_watch *w, short revents)
{
	char why[CONTROL_WHY] = "";

	(void)revents;
	switch (signals_next(w)) {
	case 0:
		break;
	case SIGHUP:
		/* An instance gets its configuration from the front (root's depd). */
		if (!depd->front)
			depd_reload(depd, why);
		break;
	case SIGUSR2:
		log_msg(LOG_NOTICE, 0, "exiting; the next depd resumes the sessions");
		if (has_windows(depd))
			end_windows(depd);
		else
			core_hand_over(depd);
		break;
	default:
		core_shut_down(depd);
	}
}

/* ---- startup ---- */

static void rang(void *owner)
{
	session_step(owner);
}

static void wakeups_came(struct loop_watch *w, short revents)
{
	(void)w;
	(void)revents;
	wakeups_take(depd->wakeups, rang);
}

int core_fail(int err, const char *what)
{
	log_msg(LOG_ERR, 0, "%s: %s", what, strerror(-err));
	return err;
}

static void session_begun(struct session *s)
{
	if (s->d->front)
		s->d->front->changed(s->d);
	live_analysis_begin(s);
	temporary_session(s);
}

static void session_ended(struct session *s)
{
	live_analysis_session_ended(s);
	temporary_session_ended(s);
	if (s->d->front)
		s->d->front->changed(s->d);
}

static const struct session_ops session_ops = {
	.trace = tracer_add, .untrace = tracer_remove, .exec_ops = tracer_ops,
	.begun = session_begun, .ended = session_ended,
};

int core_prepare(struct depd *d, struct fdstore_entry **kept, size_t *n)
{
	char why[CONTROL_WHY] = "";
	struct rlimit files;
	int ret;

	depd = d;
	d->session_ops = &session_ops;
	/* depd needs a pidfd per process and a few descriptors per session. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* Stores and state files must be readable by their user only. */
	umask(077);
	ret = fdstore_open(&d->fdstore, d->rundir, kept, n, why, sizeof(why));
	if (ret) {
		log_msg(LOG_ERR, 0, "cannot keep descriptors across a restart: %s", why);
		return ret;
	}
	ret = loop_create(&d->loop);
	if (ret)
		return core_fail(ret, loop_error(ret));
	signal_ready.ready = signal_arrived;
	ret = signals_watch(d->loop, &signal_ready);
	if (ret)
		return core_fail(ret, "cannot set up signals");
	/* Must precede adoption: waits until an earlier depd's tracer has ended. */
	ret = tracer_open(d, rules_attached);
	if (ret)
		return core_fail(ret, "cannot start the tracer process");
	ret = wakeups_open(&d->wakeups);
	if (ret)
		return core_fail(ret, "cannot create wakeups");
	ret = session_files_watch(d);
	if (ret)
		return core_fail(ret, "cannot watch the connection to the holder process");
	d->wakeups_ready.ready = wakeups_came;
	ret = loop_watch_add(d->loop, &d->wakeups_ready, wakeups_fd(d->wakeups), POLLIN);
	if (ret)
		return core_fail(ret, "cannot watch wakeups");
	d->pool = dep_pool_create(d->config.workers);
	return d->pool ? 0 : core_fail(-errno, "cannot start writer threads");
}

int core_run(struct depd *d)
{
	uint64_t watchdog = notify_watchdog_ns();

	d->retention.due = retention_due;
	loop_timer_set(d->loop, &d->retention, d->front ? 0 : RETENTION_NS, RETENTION_NS);
	d->alive.due = alive_due;
	if (!watchdog || watchdog > 1000000000)
		watchdog = 1000000000;
	loop_timer_set(d->loop, &d->alive, 0, watchdog);
	if (loop_run(d->loop))
		exit_status = EXIT_FAILURE;
	policy_stop(d);
	if (d->control)
		control_close(d->control);
	d->control = NULL;
	if (d->metrics)
		metrics_close(d->metrics);
	tracer_close(d);
	return exit_status;
}
