// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * System calls in a process that has just begun a new image.
 *
 * The process is at PTRACE_EVENT_EXEC, or stopped by SIGSTOP at the end of execve (held).
 *
 * PTRACE_EVENT_EXEC comes in the middle of execve, whose result overwrites rax later. So the
 * process first continues to the end of the system call. From there each remote call takes two
 * stops, before and after it, and the process never reaches an instruction of its own.
 *
 * All signals are blocked meanwhile and stay pending. SIGSTOP cannot be blocked: it is suppressed
 * and sent again at the end. In a held process SIGCONT is not blocked, since it must be consumed
 * before the process continues.  The kernel queues a blocked signal again, with all that came with
 * it, if a tracer lets a process continue with that signal.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

#define VDSO_MAX (64u << 10)
#define PAUSE_NS 10000 /* pause between two looks at a thread that is not waited for for ever */
#define SYSCALL_INSN 0x050fu
/* Size of the kernel's struct user_regs_struct of 32-bit processes. */
#define REGS32_SIZE 68u

/* dep_trace_wait(), at most until r->until. */
static int wait_stop(struct dep_remote *r, int *sig)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct timespec now;
	int stop;

	if (r->running && !r->until)
		return dep_trace_wait_used(r->pid, sig);
	for (;;) {
		stop = dep_trace_wait(r->pid, !r->until, sig);
		if (stop != DEP_STOP_NONE || !r->until)
			return stop;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= r->until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

/* Is it a fault, after which the same instruction is executed again? */
static bool repeats(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE;
}

int dep_remote_next_stop(struct dep_remote *r)
{
	int sig = 0, stop;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, r->pid, NULL, (long)r->sig))
			return -errno;
		r->sig = 0;
		stop = wait_stop(r, &sig);
		switch (stop) {
		case DEP_STOP_SYSCALL:
			return 0;
		case DEP_STOP_SIGNAL:
			/* All signals are blocked, so it is a fault, and would come for ever. */
			if (repeats(sig) && !r->until)
				return -EFAULT;
			/*
			 * Only SIGSTOP and SIGCONT are expected here; dep_remote_end() sends any
			 * other signal again.
			 */
			if (r->stops && sig == SIGSTOP)
				r->sig = sig;
			else
				r->held = sig == SIGCONT ? 0 : sig;
			break;
		case DEP_STOP_GROUP:
			/* A running process is in it again when it is detached. */
			if (!r->running)
				r->held = sig == SIGCONT ? 0 : sig;
			break;
		case DEP_STOP_OTHER:
			ptrace(PTRACE_GETEVENTMSG, r->pid, NULL, &r->event);
			break;
		case DEP_STOP_INTERRUPT:
		case DEP_STOP_EXEC:
			break;
		case DEP_STOP_DEAD:
			return -ESRCH;
		default:
			return stop < 0 ? stop : -EIO;
		}
	}
}

/* Return: 1, 0 or a negative errno. */
static int is_32bit(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_PRSTATUS, &iov))
		return -errno;
	return iov.iov_len == REGS32_SIZE;
}

static int no_control(pid_t pid, int err, struct dep_why *why)
{
	return dep_inject_error(why, -err, "Process %d cannot be controlled: %s.", pid,
				strerror(-err));
}

/* Return: number of the process's seccomp filters; kernels before 5.10 show only if it has any. */
static u64 count_filters(pid_t pid)
{
	char path[64], text[DEP_STATUS_SIZE];
	u64 mode = 0, n = 1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (dep_status_read(AT_FDCWD, path, text))
		return 0;
	dep_status_numbers(text, "\nSeccomp:", 10, &mode, 1);
	dep_status_numbers(text, "\nSeccomp_filters:", 10, &n, 1);
	return mode ? n : 0;
}

bool dep_has_more_filters(pid_t tid)
{
	return count_filters(tid) > count_filters(getpid());
}

/*
 * A filter that this process does not have may kill the target for a remote call. Suspending
 * filters requires CAP_SYS_ADMIN; without it the image runs natively.
 */
static int beyond_filters(struct dep_remote *r, long options, struct dep_why *why)
{
	if (!dep_has_more_filters(r->pid))
		return 0;
	if (!ptrace(PTRACE_SETOPTIONS, r->pid, NULL, options | PTRACE_O_SUSPEND_SECCOMP))
		return 0;
	return dep_inject_error(why, errno,
				"Process %d has a seccomp filter, which may end it if it is "
				"recorded; only root can do so: %m.",
				r->pid);
}

/* Take control, with all signals blocked except those in @open.  @kill: PTRACE_O_EXITKILL or 0 */
static int take_control(struct dep_remote *r, u64 open, long kill, struct dep_why *why)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | kill;
	u64 mask = ~open;
	int err = is_32bit(r->pid);

	if (err > 0)
		return dep_inject_error(why, ENOTSUP,
				"Process %d runs a 32-bit program; "
				"only 64-bit ones can be recorded.", r->pid);
	if (!err && (ptrace(PTRACE_SETOPTIONS, r->pid, NULL, options) ||
		     ptrace(PTRACE_GETSIGMASK, r->pid, sizeof(r->sigmask), &r->sigmask) ||
		     ptrace(PTRACE_SETSIGMASK, r->pid, sizeof(mask), &mask)))
		err = -errno;
	if (err)
		return no_control(r->pid, err, why);
	r->masked = true;
	err = beyond_filters(r, options, why);
	if (err)
		dep_remote_end(r, NULL);
	return err;
}

/**
 * dep_remote_begin() - continue from PTRACE_EVENT_EXEC to the end of execve
 *
 * On failure the process is at either of these stops, with its original signal mask.
 */
int dep_remote_begin(struct dep_remote *r, pid_t pid, int mem, struct dep_why *why)
{
	int err;

	*r = (struct dep_remote){ .pid = pid, .mem = mem };
	/* EXITKILL: the process must not continue incomplete if the tracer dies. */
	err = take_control(r, 0, PTRACE_O_EXITKILL, why);
	if (err)
		return err;
	err = dep_remote_next_stop(r);
	if (!err && ptrace(PTRACE_GETREGS, pid, NULL, &r->regs))
		err = -errno;
	if (!err)
		return 0;
	dep_remote_end(r, NULL);
	return no_control(pid, err, why);
}

/**
 * dep_remote_begin_held() - dep_remote_begin() for a process that is stopped after execve
 * @sig: signal that it was about to receive; 0: none.  SIGSTOP is not queued again: it caused the
 *	stop.
 *
 * Other processes see it as stopped until dep_remote_continue().
 */
int dep_remote_begin_held(struct dep_remote *r, pid_t pid, int mem, int sig, struct dep_why *why)
{
	*r = (struct dep_remote){ .pid = pid, .mem = mem };
	if (sig != SIGSTOP && sig != SIGCONT)
		r->sig = sig;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r->regs))
		return no_control(pid, -errno, why);
	return take_control(r, 1ull << (SIGCONT - 1), PTRACE_O_EXITKILL, why);
}

/** dep_remote_begin_running() - see internal.h */
int dep_remote_begin_running(struct dep_remote *r, pid_t tid, int mem, struct dep_why *why)
{
	*r = (struct dep_remote){ .pid = tid, .mem = mem, .running = true };
	if (ptrace(PTRACE_GETREGS, tid, NULL, &r->regs))
		return no_control(tid, -errno, why);
	return take_control(r, 0, 0, why);
}

/**
 * dep_remote_continue() - end the stop of a held process
 *
 * SIGCONT is consumed during a system call without effect. At its end the process is under control
 * even if a SIGTSTP from another process came first.
 */
int dep_remote_continue(struct dep_remote *r, struct dep_why *why)
{
	s64 ret;

	if (kill(r->pid, SIGCONT))
		return dep_inject_error(why, errno, "Process %d cannot be continued: %m.", r->pid);
	ret = dep_remote_call(r, SYS_getpid, 0, 0, 0, 0, 0, 0);
	return ret < 0 ? no_control(r->pid, (int)ret, why) : 0;
}

/* Find a syscall instruction: bytes 0f 05, whatever instruction they are part of. 0: none. */
static u64 find_insn(const unsigned char *text, u64 from, u64 to)
{
	for (u64 i = from; i + 1 < to; i++)
		if (text[i] == 0x0f && text[i + 1] == 0x05)
			return i;
	return 0;
}

u64 dep_vdso_call(int mem, const struct dep_address_space *s)
{
	unsigned char buf[VDSO_MAX];
	u64 size = s->vdso_size;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (size < sizeof(eh) || size > sizeof(buf) || dep_memory_read(mem, s->vdso, buf, size))
		return 0;
	memcpy(&eh, buf, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(ph))
		return 0;
	for (u64 i = 0; i < eh.e_phnum; i++) {
		u64 at, found;

		if (eh.e_phoff > size || size - eh.e_phoff < (i + 1) * sizeof(ph))
			return 0;
		memcpy(&ph, buf + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		at = ph.p_offset;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || at > size)
			continue;
		found = find_insn(buf, at ? at : 1,
				  ph.p_filesz > size - at ? size : at + ph.p_filesz);
		if (found)
			return s->vdso + found;
	}
	return 0;
}

/** dep_remote_find_syscall() - find a syscall instruction, or write one at rip */
int dep_remote_find_syscall(struct dep_remote *r, const struct dep_address_space *s, bool use_vdso,
			    struct dep_why *why)
{
	long text;

	r->insn = use_vdso && s->vdso ? dep_vdso_call(r->mem, s) : 0;
	if (r->insn)
		return 0;
	errno = 0;
	r->saved_text = ptrace(PTRACE_PEEKTEXT, r->pid, r->regs.rip, NULL);
	if (errno)
		goto fail;
	text = (long)(((unsigned long)r->saved_text & ~0xfffful) | SYSCALL_INSN);
	if (ptrace(PTRACE_POKETEXT, r->pid, r->regs.rip, text))
		goto fail;
	r->poked = true;
	r->insn = r->regs.rip;
	return 0;
fail:
	return dep_inject_error(why, errno, "The memory of process %d cannot be accessed: %m.",
				r->pid);
}

/**
 * dep_remote_call() - let the process make a system call
 *
 * Return: its result; -ESRCH also if the process died.
 */
s64 dep_remote_call(struct dep_remote *r, long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	struct user_regs_struct regs = r->regs;
	int err;

	regs.rip = r->insn;
	regs.rax = (u64)nr;
	regs.orig_rax = -1ull;
	regs.rdi = a;
	regs.rsi = b;
	regs.rdx = c;
	regs.r10 = d;
	regs.r8 = e;
	regs.r9 = f;
	if (ptrace(PTRACE_SETREGS, r->pid, NULL, &regs))
		return -errno;
	err = dep_remote_next_stop(r);
	if (!err)
		err = dep_remote_next_stop(r);
	if (err)
		return err;
	if (ptrace(PTRACE_GETREGS, r->pid, NULL, &regs))
		return -errno;
	return (s64)regs.rax;
}

/**
 * dep_remote_end() - undo what remote calls changed
 * @regs: registers to continue with; NULL: the process's own
 *
 * The caller may detach it afterwards.
 */
int dep_remote_end(struct dep_remote *r, const struct user_regs_struct *regs)
{
	int err = 0;

	if (!regs && r->insn)
		regs = &r->regs;
	if (r->poked && ptrace(PTRACE_POKETEXT, r->pid, r->regs.rip, r->saved_text))
		err = -errno;
	r->poked = false;
	if (regs && ptrace(PTRACE_SETREGS, r->pid, NULL, regs))
		err = -errno;
	if (r->held)
		kill(r->pid, r->held);
	r->held = 0;
	if (r->masked && ptrace(PTRACE_SETSIGMASK, r->pid, sizeof(r->sigmask), &r->sigmask))
		err = -errno;
	r->masked = false;
	return err;
}
