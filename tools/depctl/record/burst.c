// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The option --burst of depctl attach: record for some time, let the processes run natively for
 * some time, and so on.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tools/depctl/depctl.h"
#include "burst.h"
#include "slots.h"

#define SHORTEST_NS	1000000ull
#define RETRY_NS	20000000ull	/* pause after a process could not be paused or resumed */

void burst_parse(struct burst *b, const char *arg, struct argp_state *state)
{
	const char *end;

	if (!parse_time(arg, &end, &b->on_ns) || *end != '/' ||
	    !parse_time(end + 1, NULL, &b->off_ns) || b->on_ns < SHORTEST_NS ||
	    b->off_ns < SHORTEST_NS)
		argp_error(state, "--burst must be two times such as 100ms/2s: how long to record, "
			   "and how long not to; not '%s'", arg);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void burst_begin(struct burst *b)
{
	b->next_ns = b->on_ns ? now_ns() + b->on_ns : 0;
	b->bursts = 1;
}

/* Pause or resume one process.  Return: false if it is to be tried again. */
static bool change(struct burst *b, const struct record_launch *l, uint32_t slot, pid_t pid)
{
	struct dep_attach_cost cost;
	struct dep_detached d;
	int err;

	if (b->paused)
		err = dep_resume(&l->target, slot, pid, &cost, &b->why);
	else
		err = dep_pause(&l->target, slot, pid, &d, &b->why);
	/* Its end, or an execve, is no failure. */
	if (!err || slot_state(l, slot) != ADEPT_SLOT_LIVE)
		return true;
	if (err == -EAGAIN || err == -EBUSY || err == -ETIMEDOUT)
		return false;
	if (!b->failed++)
		warn("%s", b->why.text);
	return true;
}

static bool change_all(struct burst *b, const struct record_launch *l)
{
	bool all = true;
	uint32_t i;

	for (i = 0; i < slots_used(l); i++) {
		uint32_t leave = slot_leave(l, i);

		if (slot_state(l, i) != ADEPT_SLOT_LIVE ||
		    (leave == ADEPT_LEAVE_NONE) == b->paused)
			continue;
		all &= change(b, l, i, slot_pid(l, i));
	}
	return all;
}

unsigned int burst_step(struct burst *b, const struct record_launch *l, unsigned int round_ms)
{
	uint64_t now;

	if (!b->next_ns)
		return round_ms;
	now = now_ns();
	if (now >= b->next_ns && !change_all(b, l)) {
		b->tries++;
		b->next_ns = now + RETRY_NS;
	} else if (now >= b->next_ns) {
		b->paused = !b->paused;
		b->bursts += !b->paused;
		now = now_ns();
		b->next_ns = now + (b->paused ? b->off_ns : b->on_ns);
	}
	if (b->next_ns - now >= round_ms * 1000000ull)
		return round_ms;
	return (unsigned int)((b->next_ns - now) / 1000000) + 1;
}

void burst_report(const struct burst *b)
{
	warn("%u burst%s recorded", b->bursts, b->bursts == 1 ? " was" : "s were");
	if (b->tries)
		warn("%u time%s a process could not be paused or resumed at once; the last reason: "
		     "%s", b->tries, b->tries == 1 ? "" : "s", b->why.text);
}
