// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that are late: at the attach they are in system calls that a stop would end.
 *
 * The tracer puts an int3 where the thread goes on after the call.  When the call returns, or when
 * a signal arrives, the thread enters the engine by the engine's signal handler
 * (engine/os/late.c).  Here is what happens before the engine is there: one of them may have to
 * start it, and the attach may fail.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#define FIRST_NS	200000	/* pause between two looks for a thread that has returned */
#define FIRST_PAUSES	10000	/* give up after 2 s */

bool late_blocks_trap(const struct scan *s, pid_t tid)
{
	struct signal_sets set;

	return !scan_signals(s, tid, &set) || set.blocked >> (SIGTRAP - 1) & 1;
}

bool late_ignores_trap(const struct scan *s, pid_t tid)
{
	struct signal_sets set;

	return !scan_signals(s, tid, &set) || set.ignored >> (SIGTRAP - 1) & 1;
}

static bool still_waits(const struct scan *s, const struct dep_attach_thread *t)
{
	struct dep_attach_thread now;

	return !scan_look(s, t->tid, &now) && now.kind == DEP_ATTACH_RETURNS &&
	       now.call == t->call && now.sp == t->sp && now.pc == t->pc;
}

bool late_still_wait(const struct scan *s)
{
	const struct dep_attach_thread *t;

	for (t = s->thread; t < s->thread + s->n; t++)
		if (t->tid && t->was_stopped == WATCHED && !still_waits(s, t))
			return false;
	return true;
}

/* A thread that has met an int3 goes on with the instruction that was there. */
static bool step_back(const struct dep_attaching *a, pid_t tid, int *sig)
{
	struct user_regs_struct regs;

	if (*sig != SIGTRAP || ptrace(PTRACE_GETREGS, tid, NULL, &regs) ||
	    !dep_running_caught(a, &regs))
		return false;
	regs.rip--;
	ptrace(PTRACE_SETREGS, tid, NULL, &regs);
	*sig = 0;
	return true;
}

/* For release_all().  A thread that has met an int3 receives no signal for it. */
static void mark_stopped(struct dep_attach_thread *t, int sig)
{
	t->was_stopped = STOPPED;
	t->status = sig ? sig << 8 | 0x7f : PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f;
}

/* Stop the late threads that may be about to meet an int3, which is not there any more. */
static u32 stop_returned(struct scan *s)
{
	struct dep_attach_thread *t;
	u32 n = 0;

	for (t = s->thread; t < s->thread + s->n; t++) {
		if (!t->tid || t->was_stopped != WATCHED || still_waits(s, t))
			continue;
		if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL))
			continue;
		t->was_stopped = ASKED;
		n++;
	}
	return n;
}

/* Number of threads that were asked to stop and have not ended. */
static u32 count_asked(struct scan *s)
{
	struct dep_attach_thread *t, now;
	u32 n = 0;

	for (t = s->thread; t < s->thread + s->n; t++) {
		if (t->was_stopped == ASKED && scan_look(s, t->tid, &now)) {
			t->was_stopped = UNTRACED;
			t->tid = 0;
		}
		n += t->was_stopped == ASKED;
	}
	return n;
}

static void take_returned(struct scan *s, const struct dep_attaching *a, u32 n)
{
	struct dep_attach_thread *t;
	int status, sig;
	u32 at = 0;
	pid_t tid;

	for (;;) {
		tid = waitpid(-1, &status, __WALL | (n ? 0 : WNOHANG));
		if (tid < 0 && errno == EINTR) {
			n = count_asked(s);
			continue;
		}
		if (tid <= 0)
			return;
		t = scan_find(s, tid, &at);
		if (!t)
			continue;
		n -= t->was_stopped == ASKED;
		t->was_stopped = STOPPED;
		if (!WIFSTOPPED(status)) {
			t->tid = 0;
			continue;
		}
		sig = release_signal(status);
		step_back(a, tid, &sig);
		mark_stopped(t, sig);
	}
}

void late_undo(struct scan *s, const struct dep_attaching *a)
{
	stop_ticks(true);
	take_returned(s, a, stop_returned(s));
	stop_ticks(false);
}

static u32 late_left(const struct dep_attaching *a)
{
	u32 i, left = 0;

	for (i = 0; i < a->n; i++)
		left += a->thread[i].late;
	return left;
}

/* Read the state of a late thread that has stopped.  False: it stays in its call. */
static bool has_returned(const struct scan *s, struct dep_attaching *a, u32 i, int status)
{
	struct dep_running *r = &a->thread[i];

	/* Job control: it stays stopped until SIGCONT. */
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
		ptrace(PTRACE_LISTEN, r->tid, NULL, NULL);
		return false;
	}
	r->sig = release_signal(status);
	if (step_back(a, r->tid, &r->sig))
		r->returned = r->call;
	/* A short count is what the signal that stops the thread has caused. */
	if (release_state(s, r) == -EAGAIN) {
		r->returned = (s64)r->regs.orig_rax;
		r->regs.orig_rax = (u64)-1;
	}
	r->late = false;
	return true;
}

/* The next late thread that has returned from its call; a->n: none.  @flags: of waitpid(2) */
static u32 next_returned(const struct scan *s, struct dep_attaching *a, int flags)
{
	pid_t tid;
	int status;
	u32 i;

	while (late_left(a)) {
		tid = waitpid(-1, &status, __WALL | flags);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid <= 0)
			break;
		for (i = 0; i < a->n && a->thread[i].tid != tid; i++)
			;
		if (i < a->n && !WIFSTOPPED(status))
			a->thread[i].late = false;
		else if (i < a->n && has_returned(s, a, i, status))
			return i;
	}
	return a->n;
}

bool late_first(struct scan *s, struct dep_attaching *a)
{
	const struct timespec pause = { .tv_nsec = FIRST_NS };
	struct dep_attach_thread *t;
	unsigned int pauses;
	u32 i, at = 0;

	if (late_left(a) < a->n)
		return true;
	for (pauses = 0; pauses < FIRST_PAUSES; pauses++) {
		i = next_returned(s, a, WNOHANG);
		if (i < a->n) {
			t = scan_find(s, a->thread[i].tid, &at);
			mark_stopped(t, a->thread[i].sig);
			return true;
		}
		nanosleep(&pause, NULL);
	}
	return false;
}
