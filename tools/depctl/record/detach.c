// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of a recording that began with an attach: detach from all processes of the session. */
#include <stdint.h>

#include "tools/depctl/depctl.h"
#include "record.h"
#include "slots.h"

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

/* Detach from those processes that are recorded now.  Return: how many there were. */
static int detach_all(const struct record_launch *l, const struct record_options *o, int *failed)
{
	struct dep_detached d;
	struct dep_why why;
	int found = 0;
	uint32_t i;
	pid_t pid;

	for (i = 0; i < slots_used(l); i++) {
		pid = slot_pid(l, i);
		if (slot_state(l, i) != ADEPT_SLOT_LIVE ||
		    (slot_leave(l, i) != ADEPT_LEAVE_NONE && !dep_is_paused(&l->target, i)))
			continue;
		found++;
		if (!dep_detach(&l->target, i, pid, &d, &why)) {
			report(o, pid, &d);
			/* Its slot remains in use, so the collector must not wait for its end. */
			*failed += d.mapped;
		} else if (slot_state(l, i) == ADEPT_SLOT_LIVE) {
			warn("%s  Process %d stays under the engine, unrecorded.", why.text, pid);
			++*failed;
		}
	}
	return found;
}

int record_detach(const struct record_launch *l, const struct record_options *o)
{
	int failed = 0;

	/* A process can have forked, or executed another program, before it was detached from. */
	while (detach_all(l, o, &failed) && !failed)
		;
	return failed;
}
