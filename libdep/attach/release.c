// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Let stopped threads go on as if they had not been stopped.
 *
 * A thread that was running may have been in a system call, or have begun one just before it was
 * stopped.  The stop may have ended that call
 *
 * - with EINTR: the thread makes the call again, with the whole timeout, if it may be repeated; so
 *   it does where a filter could forbid restart_syscall;
 * - with a part of its data transferred: the tracer lets the thread transfer the rest, and makes
 *   the call return the sum.
 *
 *	thread				tracer
 *	write(fd, p, 100): 60 <-------- stop; change the call to write(fd, p + 60, 40)
 *	entry of that call -----------> continue
 *	waits as long as it takes
 *	exit of that call, with 40 ---> make it return 100; detach
 *
 * For the program neither differs from a call that was not stopped, unless a signal handler ran
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
#include "libdep/abi/restart.h"

#define SYSCALL_SIZE	2	/* size of the syscall instruction in bytes */
#define UCONTEXT_SIZE	304	/* size of the kernel's struct ucontext in bytes */
#define UNFINISHED	64
#define SETTLE_NS	100000	/* pause between checks for pending signals; 10 ms in all */
#define SETTLE_PAUSES	100
#define AWAIT_NS	1000000	/* pause between checks for threads that stop late; 10 s in all */
#define AWAIT_PAUSES	10000

/**
 * struct unfinished - a call that was cut short and is transferring the rest of its data
 * @after: registers after the call; rax has the bytes transferred before the stop
 */
struct unfinished {
	pid_t tid;
	bool entered;
	struct user_regs_struct after;
};

static struct unfinished unfinished[UNFINISHED];
static unsigned int nunfinished;

/*
 * Does the thread run a signal handler next?  Then its call would have ended without the stop, too.
 * @sig: the signal that it is about to receive; 0: none
 *
 * Signals without a handler do not count: the kernel delivers even ignored signals to a traced
 * thread, but without a tracer these would not end its call.
 */
static bool runs_handler(const struct scan *s, pid_t tid, int sig)
{
	struct signal_sets set;

	if (!scan_signals(s, tid, &set))
		return true;
	if (sig && set.caught & 1ull << (sig - 1))
		return true;
	return (set.pending | set.shared) & ~set.blocked & set.caught;
}

/* Return: number of bytes to transfer, if the call waits for all of them; 0 for other calls. */
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

/* Make the thread execute the syscall instruction again, with the registers before the call. */
static int make_call(pid_t tid, struct user_regs_struct *regs)
{
	release_call_again(regs);
	return ptrace(PTRACE_SETREGS, tid, NULL, regs) ? -errno : 0;
}

/* Let the thread transfer the rest of its data.  Return: false if it returns a short count. */
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

int release_signal(int status)
{
	return status >> 16 ? 0 : WSTOPSIG(status);
}

static enum damage damage_of(const struct scan *s, pid_t tid, int sig,
			     const struct user_regs_struct *regs)
{
	/* Outside of calls orig_rax is negative. */
	if ((s64)regs->orig_rax < 0)
		return DAMAGE_NONE;
	if ((s64)regs->rax == -EINTR && call_may_repeat((s64)regs->orig_rax) &&
	    !runs_handler(s, tid, sig))
		return DAMAGE_EINTR;
	if ((s64)regs->rax == -ADEPT_RESTART_BLOCK && scan_has_filter(s->proc, tid) &&
	    !runs_handler(s, tid, sig))
		return DAMAGE_EINTR;
	if (!sig && (s64)regs->rax > 0 && regs->rax < whole_of(regs) && !runs_handler(s, tid, 0))
		return DAMAGE_SHORT;
	return DAMAGE_NONE;
}

/* Was it stopped by job control?  That ends a call without the tracer, too. */
static bool was_in_job_control(const struct scan *s, pid_t tid)
{
	u32 at = 0;
	const struct dep_attach_thread *t = scan_find(s, tid, &at);

	return t && t->kind == DEP_ATTACH_STOPPED;
}

enum damage release_damage(const struct scan *s, pid_t tid, int sig,
			   const struct user_regs_struct *regs)
{
	enum damage damage = damage_of(s, tid, sig, regs);

	return damage != DAMAGE_NONE && was_in_job_control(s, tid) ? DAMAGE_NONE : damage;
}

void release_call_again(struct user_regs_struct *regs)
{
	regs->rip -= SYSCALL_SIZE;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (u64)-1;
}

/*
 * Is it at the first instruction of a signal handler?  The kernel leaves orig_rax as it is.  The
 * handler's second and third argument are on the stack behind the return address: struct ucontext
 * of the kernel, and then siginfo.  A program that imitates this hides a call that has returned 0.
 */
static bool begins_handler(const struct user_regs_struct *r)
{
	return !r->rax && r->rdi && r->rdi <= 64 && r->rdx == r->rsp + 8 &&
	       r->rsi == r->rdx + UCONTEXT_SIZE;
}

int release_state(const struct scan *s, struct dep_running *r)
{
	struct user_regs_struct *regs = &r->regs;

	if (ptrace(PTRACE_GETREGS, r->tid, NULL, regs))
		return -ESRCH;
	if (begins_handler(regs))
		regs->orig_rax = (u64)-1;
	if ((s64)regs->orig_rax < 0 || adept_is_restart((s64)regs->rax))
		return 0;
	switch (release_damage(s, r->tid, r->sig, regs)) {
	case DAMAGE_EINTR:
		release_call_again(regs);
		return 0;
	case DAMAGE_SHORT:
		return -EAGAIN;
	default:
		/* The call has returned: there is nothing to restart. */
		r->returned = (s64)regs->orig_rax;
		regs->orig_rax = (u64)-1;
		return 0;
	}
}

/* Repair a call that the stop has ended.  Return: true if the thread runs and is still traced. */
static bool mend_call(const struct scan *s, pid_t tid, int sig)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return false;
	switch (release_damage(s, tid, sig, &regs)) {
	case DAMAGE_EINTR:
		make_call(tid, &regs);
		return false;
	case DAMAGE_SHORT:
		return go_on(tid, &regs);
	default:
		return false;
	}
}

/* Is no signal pending for the whole process?  Such a signal may still wake a thread. */
static bool is_settled(const struct scan *s)
{
	struct signal_sets set;
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->thread[i].tid && scan_signals(s, s->thread[i].tid, &set))
			return !set.shared;
	return true;
}

void release_settle(struct scan *s)
{
	const struct timespec pause = { .tv_nsec = SETTLE_NS };
	struct dep_attach_thread *t;
	unsigned int pauses;
	u32 at = 0;
	int status;
	pid_t tid;

	for (pauses = 0; !is_settled(s) && pauses < SETTLE_PAUSES; pauses++)
		nanosleep(&pause, NULL);
	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		t = scan_find(s, tid, &at);
		if (!t || !WIFSTOPPED(status))
			continue;
		t->was_stopped = STOPPED;
		t->status = status;
	}
}

/* Is there a living thread that was asked to stop, but has not stopped yet? */
static bool is_awaited(const struct scan *s)
{
	struct dep_attach_thread now;
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->thread[i].was_stopped == ASKED && !scan_look(s, s->thread[i].tid, &now))
			return true;
	return false;
}

bool release_is_long(const struct scan *s)
{
	return nunfinished || is_awaited(s);
}

static void release(const struct scan *s, const struct dep_attach_thread *t)
{
	int sig = release_signal(t->status);

	if (!mend_call(s, t->tid, sig))
		ptrace(PTRACE_DETACH, t->tid, NULL, (long)sig);
}

void release_one(const struct scan *s, struct dep_attach_thread *t)
{
	if (t->was_stopped != STOPPED)
		return;
	release(s, t);
	t->was_stopped = UNTRACED;
}

void release_all(struct scan *s)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->thread[i].tid && s->thread[i].was_stopped == STOPPED)
			release(s, &s->thread[i]);
}

/* Make the call return the sum of the bytes transferred before the stop and of @more. */
static void finish(struct unfinished *u, s64 more, int sig)
{
	struct user_regs_struct regs;

	if (u->entered && !ptrace(PTRACE_GETREGS, u->tid, NULL, &regs)) {
		/* The syscall instruction overwrites rcx and r11: keep its values. */
		u->after.rcx = regs.rcx;
		u->after.r11 = regs.r11;
	}
	u->after.rax += more > 0 ? (u64)more : 0;
	ptrace(PTRACE_SETREGS, u->tid, NULL, &u->after);
	ptrace(PTRACE_DETACH, u->tid, NULL, (long)sig);
}

/* Handle a stop of a thread with an unfinished call.  Return: true if it is no longer traced. */
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
	/* A job control stop: the thread stays stopped until SIGCONT. */
	if (status >> 16 == PTRACE_EVENT_STOP && sig != SIGTRAP)
		return ptrace(PTRACE_LISTEN, u->tid, NULL, NULL) != 0;
	if (status >> 16)
		return ptrace(PTRACE_SYSCALL, u->tid, NULL, NULL) != 0;
	/* A signal came before the call was entered.  Without a tracer it would have ended it. */
	finish(u, 0, sig);
	return true;
}

/* Release a thread that stopped late: it was WATCHED only, or did not stop in time. */
static void stopped_late(struct scan *s, pid_t tid, int status)
{
	u32 at = 0;
	struct dep_attach_thread *t = scan_find(s, tid, &at);

	if (!t)
		return;
	t->was_stopped = STOPPED;
	t->status = status;
	if (WIFSTOPPED(status))
		release(s, t);
}

void release_finish(struct scan *s)
{
	const struct timespec pause = { .tv_nsec = AWAIT_NS };
	unsigned int i, pauses = 0;
	int status;
	pid_t tid;

	for (;;) {
		tid = waitpid(-1, &status, __WALL | (nunfinished ? 0 : WNOHANG));
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0 || (!tid && (!is_awaited(s) || pauses++ == AWAIT_PAUSES)))
			return;
		if (!tid) {
			nanosleep(&pause, NULL);
			continue;
		}
		for (i = 0; i < nunfinished && unfinished[i].tid != tid; i++)
			;
		if (i == nunfinished)
			stopped_late(s, tid, status);
		else if (step(&unfinished[i], status))
			unfinished[i] = unfinished[--nunfinished];
	}
}
