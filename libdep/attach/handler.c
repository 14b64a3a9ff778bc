// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that are about to run a signal handler at the moment of the stop.
 *
 * A thread that has raised a signal by a fault cannot be moved into the engine, whose handler would
 * take the fault for one of the engine's code.  The kernel is left to begin the program's handler,
 * and the thread is stopped again at the handler's first instruction.  So the handler has the frame
 * that it has without a tracer, and runs exactly once.
 *
 *	thread				tracer
 *	the signal is queued <--------- stop
 *	is about to receive it <------- continue
 *	a frame is on its stack <------ ask to stop; continue with the signal
 *
 * The thread executes no instruction of the program meanwhile.  Other signals that have a handler
 * are treated alike: to stop again is then the same as to be stopped a moment later.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "internal.h"

#define SIGNAL_BIT(sig)	(1ull << ((sig) - 1))
#define FAULTS	(SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGBUS) | \
		 SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGSEGV))
#define QUEUED	64	/* signals that are looked at together */
#define ROUNDS	20	/* a fault takes two, and several handlers can begin one in another */

enum next { READY, RUNS, NOT_NOW };

static bool is_fault(const siginfo_t *info)
{
	/* si_code is positive if the kernel has sent the signal. */
	return info->si_signo > 0 && info->si_signo < 32 && info->si_code > 0 &&
	       FAULTS & SIGNAL_BIT(info->si_signo);
}

/*
 * The signals of faults that a thread has raised, but is not about to receive yet.
 *
 * For each look, the kernel walks through all that was looked at before.  Of a program that has
 * queued many signals, the rest is only looked at if there is such a signal at all.
 */
static u64 queued_faults(const struct scan *s, pid_t tid)
{
	struct __ptrace_peeksiginfo_args args = { .nr = QUEUED };
	siginfo_t info[QUEUED];
	struct signal_sets sets;
	u64 set = 0;
	long n, i;

	while ((n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info)) > 0) {
		for (i = 0; i < n; i++)
			if (is_fault(info + i))
				set |= SIGNAL_BIT(info[i].si_signo);
		if (n < QUEUED || (scan_signals(s, tid, &sets) && !(sets.pending & FAULTS)))
			break;
		args.off += (u64)n;
	}
	return set;
}

static enum next continue_with(pid_t tid, int sig)
{
	return ptrace(PTRACE_CONT, tid, NULL, (long)sig) ? NOT_NOW : RUNS;
}

/* Let the thread go on to the point where it is about to receive a signal of @queued. */
static enum next dequeue(const struct scan *s, const struct dep_attach_thread *t, u64 queued)
{
	struct signal_sets set;

	/* Job control has stopped it: it must not run before SIGCONT. */
	if (WSTOPSIG(t->status) != SIGTRAP)
		return NOT_NOW;
	/* A program can send itself such a signal, and block it: then the thread would run. */
	if (!scan_signals(s, t->tid, &set) || !(queued & ~set.blocked))
		return NOT_NOW;
	return continue_with(t->tid, 0);
}

/* Let the thread receive the signal, and stop again before its next instruction. */
static enum next receive(const struct scan *s, const struct dep_attach_thread *t, int sig)
{
	struct signal_sets set;
	siginfo_t info;

	if (!scan_signals(s, t->tid, &set))
		return NOT_NOW;
	if ((set.caught | set.ignored) & SIGNAL_BIT(sig)) {
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		return continue_with(t->tid, sig);
	}
	/* It ends the process. */
	return ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) || is_fault(&info) ? NOT_NOW : READY;
}

static enum next next_of(const struct scan *s, const struct dep_attach_thread *t)
{
	int sig = release_signal(t->status);
	u64 queued = sig ? 0 : queued_faults(s, t->tid);

	if (sig)
		return receive(s, t, sig);
	return queued ? dequeue(s, t, queued) : READY;
}

static int not_now(const struct scan *s, const struct dep_attach_thread *t, struct dep_why *why)
{
	return dep_inject_error(why, EAGAIN, "Thread %d of process %d cannot begin a signal "
				"handler now; try again.", t->tid, s->pid);
}

/* Let all stopped threads go on that are not ready.  *n receives their number. */
static int go_on_all(struct scan *s, u32 *n, struct dep_why *why)
{
	struct dep_attach_thread *t;
	enum next step;

	*n = 0;
	for (t = s->thread; t < s->thread + s->n; t++) {
		if (!t->tid || t->was_stopped != STOPPED)
			continue;
		step = next_of(s, t);
		if (step == NOT_NOW)
			return not_now(s, t, why);
		if (step == RUNS) {
			t->was_stopped = ASKED;
			(*n)++;
		}
	}
	return 0;
}

int handler_begin_all(struct scan *s, struct dep_why *why)
{
	unsigned int rounds;
	int err, stopped;
	u32 n;

	for (rounds = 0; rounds < ROUNDS; rounds++) {
		err = go_on_all(s, &n, why);
		stopped = n ? stop_await(s, n, why) : 0;
		if (err || stopped || !n)
			return err ? err : stopped;
	}
	return dep_inject_error(why, EAGAIN, "Process %d receives signals faster than their "
				"handlers begin; try again.", s->pid);
}
