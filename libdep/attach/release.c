// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Let stopped threads go on as if they had not been stopped.
 *
 * A thread that was running may have been in a call, or have begun one between the look at it and
 * its stop.  If the stop has ended that call,
 *
 * - with EINTR: it begins again; its time-out is longer by the time that it had waited;
 * - with a part of its data transferred: the tracer lets the thread transfer the rest, and returns
 *   the sum.
 *
 *	thread				tracer
 *	write(fd, p, 100): 60 <-------- stop; makes it write(fd, p + 60, 40)
 *	entry of that call -----------> go on
 *	waits as long as it takes
 *	exit of it, with 40 ----------> returns 100; detach
 *
 * A program can tell neither from a call that nobody has stopped, but for a handler that ran
 * meanwhile.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#define SYSCALL_SIZE	2	/* bytes of the instruction */
#define UNFINISHED	64

/**
 * struct unfinished - a call that goes on with the rest of its data
 * @after: registers with which the call returns what was transferred before
 */
struct unfinished {
	pid_t tid;
	bool entered;
	struct user_regs_struct after;
};

static struct unfinished unfinished[UNFINISHED];
static unsigned int nunfinished;

/* Will the thread run a handler of a signal now? */
static bool has_signal(const struct scan *s, pid_t tid)
{
	unsigned long long own = 0, shared = 0, blocked = 0;
	char path[48], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "task/%d/status", tid);
	f = dep_proc_file(s->proc, path);
	if (!f)
		return true;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "SigPnd: %llx", &own);
		sscanf(line, "ShdPnd: %llx", &shared);
		sscanf(line, "SigBlk: %llx", &blocked);
	}
	fclose(f);
	return (own | shared) & ~blocked;
}

/* How much the call was to transfer, if it waits until all is; 0: it does not. */
static u64 whole_of(const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return r->rdx;
	case SYS_recvfrom:
		return r->r10 & MSG_WAITALL ? r->rdx : 0;
	default:
		return 0;
	}
}

/* Let the call be made again, by setting the registers that changed. */
static int make_call(pid_t tid, struct user_regs_struct *regs)
{
	regs->rip -= SYSCALL_SIZE;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (u64)-1;
	return ptrace(PTRACE_SETREGS, tid, NULL, regs) ? -errno : 0;
}

/* Begin the call for the rest of its data; false: it is left as it is. */
static bool go_on(pid_t tid, struct user_regs_struct *regs)
{
	struct unfinished *u = &unfinished[nunfinished];
	u64 done = regs->rax;

	if (nunfinished == UNFINISHED)
		return false;
	*u = (struct unfinished){ .tid = tid, .after = *regs };
	u->after.orig_rax = (u64)-1;
	regs->rsi += done;
	regs->rdx -= done;
	if (regs->orig_rax == SYS_pwrite64)
		regs->r10 += done;
	if (make_call(tid, regs) || ptrace(PTRACE_SYSCALL, tid, NULL, NULL))
		return false;
	nunfinished++;
	return true;
}

/* Undo what the stop did to a call; true: the thread goes on, and is still traced. */
static bool mend_call(const struct scan *s, pid_t tid)
{
	struct user_regs_struct regs;

	/* Outside of calls orig_rax is negative. */
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) || (s64)regs.orig_rax < 0)
		return false;
	if ((s64)regs.rax == -EINTR && !has_signal(s, tid))
		make_call(tid, &regs);
	else if ((s64)regs.rax > 0 && regs.rax < whole_of(&regs) && !has_signal(s, tid))
		return go_on(tid, &regs);
	return false;
}

/* The signal that a stopped thread was about to receive; 0: none. */
static int signal_of(pid_t tid)
{
	siginfo_t si;

	/* Fails in a stop of job control; in one that ptrace caused si_code tells. */
	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &si) || si.si_code >> 8 == PTRACE_EVENT_STOP ||
	    si.si_code == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
		return 0;
	return si.si_signo;
}

unsigned int release_all(struct scan *s)
{
	struct dep_attach_thread *t;
	int sig;
	u32 i;

	for (i = 0; i < s->n; i++) {
		t = &s->thread[i];
		if (t->was_stopped != STOPPED)
			continue;
		sig = signal_of(t->tid);
		if (sig || !mend_call(s, t->tid))
			ptrace(PTRACE_DETACH, t->tid, NULL, (long)sig);
	}
	return nunfinished;
}

/* Return from the call with what was transferred before and, by the rest of it, @more. */
static void finish(struct unfinished *u, s64 more, int sig)
{
	struct user_regs_struct regs;

	if (u->entered && !ptrace(PTRACE_GETREGS, u->tid, NULL, &regs)) {
		/* rcx and r11 are those of the call's return. */
		u->after.rcx = regs.rcx;
		u->after.r11 = regs.r11;
	}
	u->after.rax += more > 0 ? (u64)more : 0;
	ptrace(PTRACE_SETREGS, u->tid, NULL, &u->after);
	ptrace(PTRACE_DETACH, u->tid, NULL, (long)sig);
}

/* A thread whose call is unfinished has stopped; true: it is not traced any more. */
static bool step(struct unfinished *u, int status)
{
	struct user_regs_struct regs;
	int sig = WSTOPSIG(status);

	if (!WIFSTOPPED(status))
		return true;
	if (sig == (SIGTRAP | 0x80) && !u->entered) {
		u->entered = true;
		return ptrace(PTRACE_SYSCALL, u->tid, NULL, NULL) != 0;
	}
	if (sig == (SIGTRAP | 0x80)) {
		finish(u, ptrace(PTRACE_GETREGS, u->tid, NULL, &regs) ? 0 : (s64)regs.rax, 0);
		return true;
	}
	/* In a stop of job control it stays until that ends. */
	if (status >> 16 == PTRACE_EVENT_STOP && sig != SIGTRAP)
		return ptrace(PTRACE_LISTEN, u->tid, NULL, NULL) != 0;
	if (status >> 16)
		return ptrace(PTRACE_SYSCALL, u->tid, NULL, NULL) != 0;
	/* A signal before the call: natively it would have come during the call. */
	finish(u, 0, sig);
	return true;
}

void release_finish(void)
{
	unsigned int i;
	int status;
	pid_t tid;

	while (nunfinished) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return;
		for (i = 0; i < nunfinished && unfinished[i].tid != tid; i++)
			;
		if (i < nunfinished && step(&unfinished[i], status))
			unfinished[i] = unfinished[--nunfinished];
	}
}
