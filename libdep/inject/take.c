// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Taking a process that somebody holds at its first instruction.
 *
 *	process				caller
 *	in execve: SIGSTOP arrives
 *	end of execve: stops ---------> PTRACE_SEIZE, PTRACE_INTERRUPT
 *	group stop, now a ptrace stop	has it run? if not:
 *					SIGCONT; inject as at an exec stop, detach
 *	engine <------------------------
 *
 * The kernel has cleared all general registers by then, and nothing but execve leaves a
 * process in a system call like that: so it is known whether it has run.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define STOP_TRIES	200	/* of a millisecond: it is in the kernel, on its way */

/* The state in /proc/PID/stat; 0: there is no such process. */
static char state_of(pid_t pid)
{
	char path[64], buf[1024], *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	return p && p[1] ? p[2] : 0;
}

static int wait_stopped(pid_t pid, struct dep_why *why)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	char state = 0;

	for (int i = 0; i < STOP_TRIES; i++) {
		state = state_of(pid);
		if (state == 'T')
			return 0;
		if (!state || state == 'Z' || state == 'X')
			return dep_explain(why, ESRCH, "There is no process %d any more.", pid);
		if (state == 't')
			return dep_explain(why, EPERM, "Process %d is traced by somebody else.",
					pid);
		nanosleep(&ms, NULL);
	}
	return dep_explain(why, EINVAL, "Process %d is not stopped but in state %c.", pid, state);
}

/* Where execve left it: the interpreter's entry, or the program's. */
static int entry_of(pid_t pid, u64 rsp, u64 *entry, struct dep_why *why)
{
	struct dep_space space;
	Elf64_Ehdr eh;
	int err = dep_space_read(&space, pid, rsp, why);

	if (err)
		return err;
	*entry = space.entry;
	if (space.base) {
		err = dep_remote_read(pid, space.base, &eh, sizeof(eh));
		*entry = space.base + eh.e_entry;
	}
	dep_space_free(&space);
	return err ? dep_explain(why, -err, "The memory of process %d cannot be read: %s.", pid,
			      strerror(-err)) : 0;
}

/* As ELF_PLAT_INIT() leaves them; any other system call sets rcx. */
static bool untouched(const struct user_regs_struct *u)
{
	const u64 regs[] = {
		u->rax, u->rbx, u->rcx, u->rdx, u->rsi, u->rdi, u->rbp, u->r8, u->r9, u->r10,
		u->r11, u->r12, u->r13, u->r14, u->r15,
	};
	u64 all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		all |= regs[i];
	return !all && (s64)u->orig_rax >= 0;
}

/* Traced and stopped: is no instruction of it run? */
static int check_fresh(pid_t pid, struct dep_why *why)
{
	struct user_regs_struct regs;
	u64 entry = 0;
	int err;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return dep_explain(why, errno, "Process %d cannot be controlled: %m.", pid);
	err = entry_of(pid, regs.rsp, &entry, why);
	if (err)
		return err;
	if (regs.rip != entry || !untouched(&regs))
		return dep_explain(why, EINVAL, "Process %d has begun to run already.", pid);
	return 0;
}

/* Until it is in our hands.  A signal that it was about to get is given back in *sig. */
static int seize(pid_t pid, int *sig, struct dep_why *why)
{
	int stop;

	*sig = 0;
	if (ptrace(PTRACE_SEIZE, pid, NULL, 0L))
		return dep_explain(why, errno, "Process %d cannot be traced: %m.", pid);
	/* Somebody else may have let it go meanwhile. */
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	stop = dep_trace_wait(pid, true, sig);
	if (stop != DEP_STOP_SIGNAL)
		*sig = 0;
	if (stop == DEP_STOP_DEAD || stop < 0) {
		dep_trace_bury(pid, pid);
		return dep_explain(why, ESRCH, "Process %d was killed.", pid);
	}
	return 0;
}

/* It runs natively. */
static int let_go(pid_t pid, int err)
{
	int sig;

	kill(pid, SIGCONT);
	if (!ptrace(PTRACE_DETACH, pid, NULL, NULL))
		return err;
	/* It was killed; its parent sees that when we have. */
	dep_trace_wait(pid, true, &sig);
	dep_trace_bury(pid, pid);
	return err;
}

int dep_take(const struct dep_target *t, pid_t pid, u32 cause, struct dep_injected *out,
	     struct dep_why *why)
{
	struct dep_remote r;
	int err, sig;

	memset(out, 0, sizeof(*out));
	out->pid = pid;
	if (pid <= 0 || pid == getpid())
		return dep_explain(why, EINVAL, "There can be no process %d to take.", pid);
	err = wait_stopped(pid, why);
	if (!err)
		err = seize(pid, &sig, why);
	if (err)
		return err;
	err = check_fresh(pid, why);
	if (err == -EINVAL) {
		/* Not ours to continue. */
		ptrace(PTRACE_DETACH, pid, NULL, (long)sig);
		return err;
	}
	if (err)
		return let_go(pid, err);
	err = dep_remote_begin_held(&r, pid, why);
	if (!err)
		err = dep_inject_remote(&r, t, true, cause, 0, out, why);
	return err ? let_go(pid, err) : 0;
}
