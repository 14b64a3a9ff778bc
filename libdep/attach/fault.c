// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Instructions that have raised a signal at the moment of the stop.
 *
 * In the engine the signal would seem to be the engine's.  The thread does not receive it: it
 * executes the instruction again, in the engine, and that raises the signal.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>

#include "internal.h"

#define FAULTS	(1u << SIGILL | 1u << SIGTRAP | 1u << SIGBUS | 1u << SIGFPE | 1u << SIGSEGV)
#define INT3	0xcc

static bool is_fault(int sig)
{
	return sig > 0 && sig < 32 && FAULTS >> sig & 1;
}

/* Has it been raised, but the thread is not about to receive it yet? */
static bool is_queued(pid_t tid)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 1 };
	siginfo_t info;

	while (ptrace(PTRACE_PEEKSIGINFO, tid, &args, &info) == 1) {
		if (is_fault(info.si_signo) && info.si_code > 0)
			return true;
		args.off++;
	}
	return false;
}

static bool is_behind_int3(const struct dep_running *r)
{
	errno = 0;
	return (ptrace(PTRACE_PEEKTEXT, r->tid, r->regs.rip - 1, NULL) & 0xff) == INT3 && !errno;
}

/* Does the instruction raise it again?  Signals that were sent, and errors of memory, do not. */
static bool comes_again(const struct dep_running *r)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, r->tid, NULL, &info))
		return false;
	switch (info.si_signo) {
	case SIGTRAP:
		return info.si_code == SI_KERNEL && is_behind_int3(r);
	case SIGSEGV:
		return info.si_code > 0 && info.si_code <= SEGV_PKUERR;
	case SIGBUS:
		return info.si_code > 0 && info.si_code <= BUS_OBJERR;
	case SIGFPE:
		return info.si_code > 0 && info.si_code <= FPE_FLTSUB;
	case SIGILL:
		return info.si_code > 0 && info.si_code <= ILL_BADSTK;
	default:
		return false;
	}
}

int fault_undo(struct dep_running *r)
{
	if (is_queued(r->tid))
		return -EAGAIN;
	if (!is_fault(r->sig))
		return 0;
	if (!comes_again(r))
		return -EAGAIN;
	/* After an int3, rip is behind it. */
	r->regs.rip -= r->sig == SIGTRAP;
	r->sig = 0;
	r->faulted = true;
	return 0;
}
