// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of a recording that began with an attach: detach from all processes of the session. */
#include <stdint.h>

#include "tools/depctl/depctl.h"
#include "record.h"

static struct adept_proc *slot_at(const struct record_launch *l, uint32_t i)
{
	return (struct adept_proc *)((char *)l->map + l->target.layout.proc_off) + i;
}

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* Number of slots that were ever used; a process could have written any value. */
static uint32_t nslots(const struct record_launch *l)
{
	uint32_t used = load(&l->map->procs_used), all = l->target.layout.nprocs;

	return used < all ? used : all;
}

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

	for (i = 0; i < nslots(l); i++) {
		pid = (pid_t)load(&slot_at(l, i)->pid);
		if (load(&slot_at(l, i)->state) != ADEPT_SLOT_LIVE ||
		    load(&slot_at(l, i)->leave) != ADEPT_LEAVE_NONE)
			continue;
		found++;
		if (!dep_detach(&l->target, i, pid, &d, &why)) {
			report(o, pid, &d);
			/* Its slot remains in use, so the collector must not wait for its end. */
			*failed += d.mapped;
		} else if (load(&slot_at(l, i)->state) == ADEPT_SLOT_LIVE) {
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
