// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Attach to a process that is stopped at its first instruction.
 *
 *	process				caller
 *	in execve: SIGSTOP arrives
 *	end of execve: stops ---------> PTRACE_SEIZE, PTRACE_INTERRUPT
 *	group stop, now a ptrace stop	has it run? if not:
 *					SIGCONT; inject as at an exec stop, detach
 *	engine <------------------------
 *
 * execve clears all general registers, and only execve leaves a process in a system call with such
 * registers. This shows whether an instruction of the new image has run.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define STOP_TRIES	200	/* milliseconds; the process is in execve and about to stop */

/* Return: state letter in /proc/PID/stat; 0: no process. @start: receives its begin in ticks. */
static char state_of(int proc, u64 *start)
{
	FILE *f = dep_proc_file(proc, "stat");
	char buf[1024], state, *p;
	size_t n;

	*start = 0;
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	state = p && p[1] ? p[2] : 0;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	*start = p ? strtoull(p, NULL, 10) : 0;
	return state;
}

/*
 * Is @ticks, from /proc, the time @start_ns? The kernel rounds ticks down; with time namespaces the
 * result may be one higher.
 */
static bool began(u64 ticks, u64 start_ns)
{
	u64 expect = start_ns / (1000000000ull / (u64)sysconf(_SC_CLK_TCK));

	return ticks == expect || ticks == expect + 1;
}

static int wait_stopped(pid_t pid, int proc, u64 start_ns, struct dep_why *why)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	char state = 0;
	u64 ticks;

	for (int i = 0; i < STOP_TRIES; i++) {
		state = state_of(proc, &ticks);
		if (state && start_ns && !began(ticks, start_ns))
			return dep_inject_error(why, ESRCH, "process %d is a different one now",
						pid);
		if (state == 'T')
			return 0;
		if (!state || state == 'Z' || state == 'X')
			return dep_inject_error(why, ESRCH, "There is no process %d any more.",
						pid);
		if (state == 't')
			return dep_inject_error(why, EPERM,
						"Process %d is traced by another process.", pid);
		nanosleep(&ms, NULL);
	}
	return dep_inject_error(why, EINVAL, "Process %d is not stopped but in state %c.", pid,
				state);
}

/* Find the entry point after execve: the interpreter's, if there is one, or the program's. */
static int entry_of(pid_t pid, int proc, u64 rsp, u64 *entry, struct dep_why *why)
{
	struct dep_address_space space;
	int err, mem;
	Elf64_Ehdr eh;

	err = dep_address_space_read(&space, pid, proc, rsp, why);

	if (err)
		return err;
	*entry = space.entry;
	if (space.base) {
		mem = dep_memory_open(proc);
		err = mem < 0 ? mem : dep_memory_read(mem, space.base, &eh, sizeof(eh));
		*entry = space.base + eh.e_entry;
		if (mem >= 0)
			close(mem);
	}
	dep_address_space_free(&space);
	return err ? dep_inject_error(why, -err, "The memory of process %d cannot be read: %s.",
				      pid, strerror(-err))
		   : 0;
}

/* Are the registers as execve sets them (ELF_PLAT_INIT())? Any other system call sets rcx. */
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

/* Check that the traced and stopped process has not run an instruction. */
static int check_fresh(pid_t pid, int proc, struct dep_why *why)
{
	struct user_regs_struct regs;
	u64 entry = 0;
	int err;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return dep_inject_error(why, errno, "Process %d cannot be controlled: %m.", pid);
	err = entry_of(pid, proc, regs.rsp, &entry, why);
	if (err)
		return err;
	if (regs.rip != entry || !untouched(&regs))
		return dep_inject_error(why, EINVAL, "Process %d has already started to run.", pid);
	return 0;
}

/* Seize and stop the process. *sig receives a signal that it was about to get. */
static int seize(pid_t pid, int *sig, struct dep_why *why)
{
	int stop;

	*sig = 0;
	if (ptrace(PTRACE_SEIZE, pid, NULL, 0L))
		return dep_inject_error(why, errno, "Process %d cannot be traced: %m.", pid);
	/* Another process may have continued it meanwhile. */
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	stop = dep_trace_wait(pid, true, sig);
	if (stop != DEP_STOP_SIGNAL)
		*sig = 0;
	if (stop == DEP_STOP_DEAD || stop < 0) {
		dep_trace_reap(pid, pid);
		return dep_inject_error(why, ESRCH, "Process %d was killed.", pid);
	}
	return 0;
}

/* Check again: the process may have executed a program with other user ids since it was stopped. */
static int check_user(const struct dep_pending *who, int proc, struct dep_injected *out,
		      struct dep_why *why)
{
	struct dep_base found = { 0 };
	int err = dep_judge(proc, &found, false, &found, why);

	if (!err && who->has_uid && found.uid[0] != who->uid)
		err = dep_inject_error(why, EACCES,
				       "privileged: its user has changed since it was stopped");
	out->privileged = err == -EACCES;
	return err;
}

/* Detach; the process runs natively, and receives @sig, unless that is what has stopped it. */
static int let_go(pid_t pid, int sig, int err)
{
	kill(pid, SIGCONT);
	if (sig == SIGSTOP)
		sig = 0;
	if (!ptrace(PTRACE_DETACH, pid, NULL, (long)sig))
		return err;
	/* The process was killed; its parent is notified after the tracer has reaped it. */
	dep_trace_wait(pid, true, &sig);
	dep_trace_reap(pid, pid);
	return err;
}

/* @proc: the process's /proc directory, which refers to it even if its pid is reused */
static int take(const struct dep_target *t, const struct dep_pending *who, int proc, u32 cause,
		struct dep_injected *out, struct dep_why *why)
{
	struct dep_stopped how = { .held = true };
	pid_t pid = who->pid;
	u64 ticks;
	int err;

	err = wait_stopped(pid, proc, who->start_ns, why);
	if (!err)
		err = seize(pid, &how.sig, why);
	if (err)
		return err;
	/* If the directory still has a process, it is the one that was seized. */
	if (!state_of(proc, &ticks))
		err = dep_inject_error(why, EINVAL, "process %d is a different one now", pid);
	if (!err)
		err = check_fresh(pid, proc, why);
	if (err == -EINVAL) {
		/* Leave the process as it was. */
		ptrace(PTRACE_DETACH, pid, NULL, (long)how.sig);
		return err;
	}
	if (!err)
		err = check_user(who, proc, out, why);
	if (!err)
		err = dep_inject_stopped(t, pid, &how, &(struct dep_origin){ .cause = cause }, out,
					 why);
	return err ? let_go(pid, how.sig, err) : 0;
}

int dep_attach(const struct dep_target *t, const struct dep_pending *who, u32 cause,
	       struct dep_injected *out, struct dep_why *why)
{
	int proc, err;

	memset(out, 0, sizeof(*out));
	out->pid = who->pid;
	if (who->pid <= 0 || who->pid == getpid())
		return dep_inject_error(why, EINVAL, "Invalid process number %d.",
					who->pid);
	proc = dep_proc_open(who->pid);
	if (proc < 0)
		return dep_inject_error(why, ESRCH, "There is no process %d any more.", who->pid);
	err = take(t, who, proc, cause, out, why);
	close(proc);
	return err;
}
