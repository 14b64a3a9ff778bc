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
#define SLOW_NS		60000000000ull	/* for processes that are too slow */

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
	int slow;
	bool give_up;	/* those that are too slow */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

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
	} else if (err == -ETIMEDOUT && !r->give_up) {
		r->slow++;
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

	r->done = r->waiting = r->stale = r->slow = 0;
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

static void say_why(const struct result *r)
{
	if (r->slow)
		warn("waiting for threads that get no processor, or wait for the collector; Ctrl-C "
		     "ends the recording without waiting for them");
	else if (r->waiting)
		warn("waiting for threads of a paused process to return from their system calls; "
		     "Ctrl-C ends the recording without waiting for them");
}

int record_detach(const struct record_launch *l, const struct record_options *o,
		  struct record_leaving *leaving)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct result r = { 0 };
	int pauses = 0;

	if (!leaving->until_ns)
		leaving->until_ns = now_ns() + SLOW_NS;
	/* A process can have forked, or executed another program, before it was detached from. */
	for (;;) {
		r.give_up = leaving->give_up || now_ns() >= leaving->until_ns;
		detach_all(l, o, &r);
		if (r.failed || r.slow || (!r.done && (!r.stale || pauses == PAUSES)))
			break;
		pauses = r.done ? 0 : pauses + 1;
		if (pauses)
			nanosleep(&pause, NULL);
	}
	if (!leaving->waits && !o->quiet && !r.failed)
		say_why(&r);
	leaving->waits = (r.waiting || r.slow) && !r.failed;
	return r.failed;
}
