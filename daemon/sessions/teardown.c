// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "libdep/collect/kept_now.h"
#include "libdep/format/file/ending.h"
#include "exit_status.h"
#include "snapshot.h"
#include "teardown.h"
#include "state_file.h"
#include "store_dir.h"
#include "daemon/base/log.h"

#define LEAVE_NS	10000000000ull	/* time to take the data of programs that still run */
#define REMEMBER_NS		60000000000ull	/* how long clients can request the result */

void session_forget_fd(struct session *s)
{
	char name[FDSTORE_NAME_MAX];

	snprintf(name, sizeof(name), "session-%u", s->id);
	fdstore_remove(s->d->fdstore, name);
	file_close(s->file, s, true);
	s->file = NULL;
}

/*
 * Stop recording the programs that still run: take the data that they have written, but not while
 * the tracer follows an execve of one of them.  Data not taken after LEAVE_NS is lost.  Return:
 * true if this step is done.
 */
static bool leave(struct session *s)
{
	bool late = loop_now() - s->ending_ns > LEAVE_NS;
	uint32_t live = s->last.live_processes;
	bool all;

	if (!late && dep_collector_following(s->collector)) {
		dep_collector_step(s->collector);
		return false;
	}
	all = dep_collector_leave(s->collector);
	if (!all && !late)
		return false;
	if (live)
		dep_collector_message(s->collector, "%u processes outlived the recording", live);
	/* LEAVE_NS has passed: give up the data that was not taken. */
	if (!all)
		dep_collector_give_up(s->collector);
	s->live = live;
	dep_collector_abandon(s->collector);
	return true;
}

/*
 * Is the store to be kept?  It is if the first process ran unrecorded, so that nothing but its
 * status is known, or if how it ended is not known.
 */
static bool is_wanted(const struct session *s)
{
	return s->native || dep_keep_if_met(s->keep_if, s->status);
}

/*
 * Remove the store of a session whose command has ended well (--keep-if).  The state file says so
 * before, so that another depd removes what is left if this one is killed now.
 */
static void remove_unwanted(struct session *s)
{
	if (is_wanted(s) || !made_is_store(s))
		return;
	s->removed = true;
	if (s->file)
		file_update(s->file, s);
	made_remove(s);
	s->removed = !made_is_store(s);
	if (s->removed)
		log_msg(LOG_INFO, s->id, "%s is removed: the program ended with status %d",
			s->store, WEXITSTATUS(s->status));
}

/* Report the end of the session, which stays in the list for REMEMBER_NS. */
static void show_end(struct session *s)
{
	s->state = SESSION_ENDED;
	log_msg(LOG_INFO, s->id, "recording has ended: %s%s%s", session_cause_name(s->cause),
		*s->error ? ": " : "", s->error);
	s->d->session_ops->ended(s);
	if (s->d->control)
		control_session_changed(s->d->control, s->id);
	loop_timer_set(s->d->loop, &s->step, REMEMBER_NS, 0);
}

void session_teardown_adopted(struct session *s)
{
	*s->error = '\0';
	if (!s->cause)
		s->cause = DEP_CLOSE_ENDED;
	s->loss = s->before.loss;
	if (s->ring.map)
		dep_session_loss(&s->ring, &s->loss);
	if (s->collector)
		dep_collector_free(s->collector);
	s->collector = NULL;
	dep_session_destroy(&s->ring);
	remove_unwanted(s);
	session_forget_fd(s);
	show_end(s);
}

/* Say why the newest part of the recording is stored, and let the collector store it. */
static void store_last(struct session *s)
{
	const struct dep_kept why = dep_kept_ended(s->status);

	dep_collector_why(s->collector, &why);
	dep_collector_store_last(s->collector);
}

static void be_ended(struct session *s, int ret)
{
	struct depd *d = s->d;
	struct session_totals t;

	dep_collector_status(s->collector, &s->last);
	if (s->last.last_from_ns && s->last.last_from_ns < s->ending_ns)
		s->last_kept_ns = s->ending_ns - s->last.last_from_ns;
	if (ret > 0)
		log_msg(LOG_WARNING, s->id,
			"the manifest or catalog of %s could not be written: run "
			"`depctl verify --rebuild' to create them",
			s->store);
	if (ret < 0 && !*s->error)
		snprintf(s->error, sizeof(s->error), "%s",
			 *s->last.error ? s->last.error : strerror(-ret));
	if (ret < 0 && s->cause == DEP_CLOSE_ENDED)
		s->cause = DEP_CLOSE_FAILED;
	session_totals(s, &t);
	d->chunks += t.chunks;
	d->raw_bytes += t.raw_bytes;
	d->stored_bytes += s->last.stored_bytes;
	d->ended[s->cause]++;
	dep_loss_add(&d->loss, &s->loss);
	s->before = t;
	s->last.live_processes = 0;
	exit_status_end(s);

	wakeups_remove(d->wakeups, s->wakeup);
	s->wakeup = -1;
	loop_remove(d->loop, &s->module_ready);
	dep_collector_free(s->collector);
	s->collector = NULL;
	d->session_ops->untrace(s);
	/* Free 20 KB that the ended session does not need while it is remembered. */
	free(s->exec);
	s->exec = NULL;
	dep_session_destroy(&s->ring);
	remove_unwanted(s);
	session_forget_fd(s);
	/* Remove the store of a session in which no process ran. */
	if (s->cause == DEP_CLOSE_ABANDONED && !s->last.processes)
		made_remove(s);
	show_end(s);
}

bool session_teardown_step(struct session *s)
{
	int ret = 0;

	switch (s->end) {
	case END_SNAPSHOTS:
		if (!snapshot_finish(s))
			return false;
		s->end = END_LEAVE;
		s->ending_ns = loop_now();
		return true;
	case END_LEAVE:
		if (!leave(s))
			return false;
		s->end = END_DRAIN;
		return true;
	case END_DRAIN:
		if (!dep_collector_drained(s->collector))
			return false;
		if (s->last_bytes && is_wanted(s))
			store_last(s);
		else if (s->last_bytes)
			dep_collector_drop_last(s->collector);
		s->end = END_LAST;
		return true;
	case END_LAST:
		if (!dep_collector_drained(s->collector))
			return false;
		session_loss(s, &s->loss);
		if (!*s->store) {
			be_ended(s, 0);
			return false;
		}
		if (dep_collector_close(s->collector, &(struct dep_ending){
				.cause = s->cause, .exit_status = s->status, .live = s->live,
				.loss = s->loss }))
			return false;
		s->end = END_CLOSE;
		return false;
	case END_CLOSE:
		if (dep_collector_closed(s->collector, &ret))
			be_ended(s, ret);
		return false;
	}
	return false;
}
