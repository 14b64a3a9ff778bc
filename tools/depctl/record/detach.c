// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of a recording that began with an attach: detach from all processes of the session. */
#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "tools/depctl/depctl.h"
#include "record.h"
#include "slots.h"

#define PAUSE_NS	3000000	/* until the collector has noticed an execve */
#define PAUSES		1000

void report_detached(pid_t pid, const struct dep_detached *d, bool quiet)
{
	uint32_t stopped = d->threads - d->late;

	if (!quiet)
		warn("process %d runs natively again: %u thread%s stopped for %.3f ms", pid,
		     stopped, stopped == 1 ? "" : "s", (double)d->stop_ns / 1e6);
	if (d->mapped)
		warn("the engine's memory in process %d could not be unmapped", pid);
}

static void report(const struct record_options *o, pid_t pid, const struct dep_detached *d)
{
	report_detached(pid, d, o->quiet);
	if (!o->quiet && d->late)
		warn("%u of its threads follow when their system calls return; Ctrl-C ends the "
		     "recording without waiting for them", d->late);
}

/** struct result - what happened to the processes of a session */
struct result {
	int done, failed, waiting;
	int stale;	/* slots of programs that were replaced by execve */
};

/* Detach from process @pid in slot @i, which is recorded or paused. */
static void detach(const struct record_launch *l, const struct record_options *o, uint32_t i,
		   pid_t pid, struct result *r)
{
	struct dep_detached d;
	struct dep_why why;
	int err = dep_detach(&l->target, i, pid, &d, &why);

	if (!err) {
		report(o, pid, &d);
		r->done++;
		/* Its slot remains in use, so the collector must not wait for its end. */
		r->failed += d.mapped;
	} else if (slot_state(l, i) != ADEPT_SLOT_LIVE) {
		r->done++;
	} else if (err == -ESTALE) {
		/* The collector gives its slot back soon. */
		r->stale++;
	} else if (err == -EAGAIN && dep_is_paused(&l->target, i)) {
		r->waiting++;
	} else if (err != -ESRCH) {
		warn("%s  Process %d stays under the engine, unrecorded.", why.text, pid);
		r->failed++;
	}
}

/* Detach from those processes that are recorded now. */
static void detach_all(const struct record_launch *l, const struct record_options *o,
		       struct result *r)
{
	uint32_t i, leave;

	r->done = r->waiting = r->stale = 0;
	for (i = 0; i < slots_used(l); i++) {
		leave = slot_leave(l, i);
		if (slot_state(l, i) != ADEPT_SLOT_LIVE)
			continue;
		if (leave == ADEPT_LEAVE_NONE || dep_is_paused(&l->target, i))
			detach(l, o, i, slot_pid(l, i), r);
		else if (slot_at(l, i)->pausing && leave != ADEPT_LEAVE_LEFT)
			r->waiting++;
	}
}

int record_detach(const struct record_launch *l, const struct record_options *o, bool *waits)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct result r = { 0 };
	int pauses = 0;

	/* A process can have forked, or executed another program, before it was detached from. */
	for (;;) {
		detach_all(l, o, &r);
		if (r.failed || (!r.done && (!r.stale || pauses == PAUSES)))
			break;
		pauses = r.done ? 0 : pauses + 1;
		if (pauses)
			nanosleep(&pause, NULL);
	}
	if (r.waiting && !*waits && !o->quiet)
		warn("waiting for threads of a paused process to return from their system calls; "
		     "Ctrl-C ends the recording without waiting for them");
	*waits = r.waiting && !r.failed;
	return r.failed;
}
