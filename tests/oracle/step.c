// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stepping.
 *
 * Each instruction is looked at before it runs and reported when it has completed.
 * Most run under PTRACE_SINGLESTEP.  System calls run under PTRACE_SYSCALL instead,
 * which shows their entry (rseq is refused there) and keeps the trap flag out of
 * r11; calls into the vsyscall page run to a breakpoint at their return address,
 * since the kernel carries them out without a trap.
 *
 * A stop other than the step's own trap says that the instruction did not run: the
 * kernel delivers signals before it goes back to the program, and the trap of a
 * completed step comes before all others.
 */
#include <cpuid.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "oracle.h"

#define TF		0x100
#define VSYSCALL	0xffffffffff600000
#define RSEQ		334
#define VSYSCALL_RET	9	/* the ret's offset in each of its entries */

enum event {
	EV_STEP,	/* a SIGTRAP, which may be the step's */
	EV_SYSCALL,	/* entry or exit */
	EV_EXEC,
	EV_SIGNAL,	/* t->sig is about to be delivered */
	EV_GROUP_STOP,
	EV_EXIT,
	EV_ERROR,
};

static int get_regs(struct tracee *t)
{
	return ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs) ? -errno : 0;
}

static enum event resume(struct tracee *t, int request, int sig)
{
	int status;

	if (ptrace(request, t->pid, 0, sig) && errno != ESRCH)
		return EV_ERROR;
	while (waitpid(t->pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return EV_ERROR;
	t->status = status;
	if (!WIFSTOPPED(status))
		return EV_EXIT;
	t->sig = WSTOPSIG(status);
	if (t->sig == (SIGTRAP | 0x80))
		return EV_SYSCALL;
	switch (status >> 16) {
	case 0:
		return t->sig == SIGTRAP ? EV_STEP : EV_SIGNAL;
	case PTRACE_EVENT_EXEC:
		return EV_EXEC;
	case PTRACE_EVENT_STOP:
		return EV_GROUP_STOP;
	default:
		return EV_ERROR;
	}
}

static int trap_code(struct tracee *t)
{
	siginfo_t si;

	return ptrace(PTRACE_GETSIGINFO, t->pid, 0, &si) ? 0 : si.si_code;
}

/*
 * A step trap that finds SIGTRAP blocked unblocks it by resetting its handler.  So
 * it never is blocked here; the program only sees that in the masks it reads back.
 */
static void unblock_trap(struct tracee *t)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, t->pid, sizeof(mask), &mask) ||
	    !(mask & 1ull << (SIGTRAP - 1)))
		return;
	mask &= ~(1ull << (SIGTRAP - 1));
	ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(mask), &mask);
}

/* A mask of /proc/PID/status; zero if it cannot be had. */
static uint64_t signal_mask(struct tracee *t, const char *format)
{
	unsigned long long mask = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", t->pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, format, &mask) == 1)
			break;
	fclose(f);
	return mask;
}

/*
 * Deliver t->sig.  With a handler this ends in the kernel's notification at its
 * first instruction; an ignored signal would let an instruction run unseen, so
 * that one is withheld, which is what ignoring does.
 */
static enum event deliver(struct tracee *t)
{
	const uint64_t harmless = 1ull << (SIGCHLD - 1) | 1ull << (SIGURG - 1) |
				  1ull << (SIGWINCH - 1) | 1ull << (SIGCONT - 1);
	const uint64_t bit = 1ull << (t->sig - 1);
	enum event ev;

	if (!(signal_mask(t, "SigCgt: %llx") & bit) &&
	    ((signal_mask(t, "SigIgn: %llx") | harmless) & bit))
		return get_regs(t) ? EV_ERROR : EV_STEP;
	ev = resume(t, PTRACE_SINGLESTEP, t->sig);
	if (ev == EV_STEP) {
		t->restart = false;
		unblock_trap(t);
		if (get_regs(t))
			return EV_ERROR;
	}
	t->new_block = true;
	return ev;
}

/* Stay stopped until SIGCONT. */
static enum event group_stop(struct tracee *t)
{
	enum event ev = EV_GROUP_STOP;

	while (ev == EV_GROUP_STOP && t->sig != SIGTRAP)
		ev = resume(t, PTRACE_LISTEN, 0);
	if (ev == EV_GROUP_STOP)
		ev = EV_STEP;
	return ev == EV_STEP && get_regs(t) ? EV_ERROR : ev;
}

static bool changes_maps(uint64_t nr)
{
	switch (nr) {
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_munmap:
	case SYS_brk:
	case SYS_mremap:
	case SYS_shmat:
	case SYS_shmdt:
	case SYS_execve:
	case SYS_execveat:
	case SYS_remap_file_pages:
	case SYS_pkey_mprotect:
		return true;
	default:
		return false;
	}
}

static int refuse_threads(struct tracee *t)
{
	uint64_t flags = 0;

	if (t->regs.orig_rax == SYS_clone)
		flags = t->regs.rdi;
	else if (t->regs.orig_rax == SYS_clone3)
		mem_read(t, t->regs.rdi, &flags, sizeof(flags));
	if (!(flags & CLONE_THREAD))
		return 0;
	fprintf(stderr, "step_oracle: the program creates a thread; "
		"only single-threaded programs can be stepped\n");
	return -ENOTSUP;
}

static int syscall_entry(struct tracee *t)
{
	int err = refuse_threads(t);

	if (err)
		return err;
	if (t->regs.orig_rax == RSEQ) {
		t->regs.orig_rax = -1;
		if (ptrace(PTRACE_SETREGS, t->pid, 0, &t->regs))
			return -errno;
	}
	return 0;
}

/* Tell the program the processors that it would have without the oracle. */
static void restore_affinity(struct tracee *t)
{
	size_t i;

	for (i = 0; i + 8 <= t->regs.rax && i < sizeof(t->affinity); i += 8)
		mem_poke(t, t->regs.rdx + i, (const char *)&t->affinity + i, 8);
}

static void syscall_exit(struct tracee *t, uint64_t nr)
{
	int64_t result = t->regs.rax;

	t->restart = (int64_t)t->regs.orig_rax >= 0 &&
		     (result == -512 || result == -513 || result == -514 || result == -516);
	t->new_block = true;
	code_flush(changes_maps(nr));
	if (nr == SYS_sched_getaffinity && result > 0 && t->pinned &&
	    (!t->regs.rdi || t->regs.rdi == (uint64_t)t->pid))
		restore_affinity(t);
	if (nr == SYS_rt_sigprocmask || nr == SYS_rt_sigreturn || nr == SYS_execve ||
	    nr == SYS_execveat)
		unblock_trap(t);
}

/*
 * After a stepped popf the kernel takes the trap flag for the program's own, and leaves it
 * set when it is no longer needed.
 */
static int drop_trap_flag(struct tracee *t)
{
	if (!(t->regs.eflags & TF))
		return 0;
	t->regs.eflags &= ~(unsigned long long)TF;
	return ptrace(PTRACE_SETREGS, t->pid, 0, &t->regs) ? -errno : 0;
}

/*
 * Run one system call, from its instruction or, when it is restarted, from where
 * the kernel takes it up again.  Return EV_STEP when it is over.
 */
static enum event step_syscall(struct tracee *t)
{
	struct __ptrace_syscall_info info;
	uint64_t nr = t->regs.rax;
	enum event ev;

	if (drop_trap_flag(t))
		return EV_ERROR;
	for (;;) {
		ev = resume(t, PTRACE_SYSCALL, 0);
		if (ev == EV_EXEC) {
			code_flush(true);
			continue;
		}
		if (ev != EV_SYSCALL)
			return ev;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) < 0 ||
		    get_regs(t))
			return EV_ERROR;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			nr = t->regs.orig_rax;
			if (syscall_entry(t))
				return EV_ERROR;
		} else {
			syscall_exit(t, nr);
			return EV_STEP;
		}
	}
}

/*
 * The kernel carries out the call and the return from it, in place of mov, syscall and
 * ret, of which only the last one makes a reference.
 */
static enum event step_vsyscall(struct tracee *t)
{
	const struct ref popped = { t->regs.rsp, 8, REF_READ };
	const uint8_t int3 = 0xcc;
	uint64_t entry = t->regs.rip, ret;
	uint8_t old;
	enum event ev;

	if (mem_read(t, t->regs.rsp, &ret, 8) != 8 || mem_read(t, ret, &old, 1) != 1 ||
	    mem_poke(t, ret, &int3, 1))
		return EV_ERROR;
	ev = resume(t, PTRACE_CONT, 0);
	if (ev == EV_EXIT)
		return ev;
	if (mem_poke(t, ret, &old, 1))
		return EV_ERROR;
	if (ev != EV_STEP)
		return ev;
	if (get_regs(t) || t->regs.rip != ret + 1)
		return EV_ERROR;
	t->regs.rip = ret;
	t->new_block = true;
	t->steps += 3;
	t->refs++;
	if (!t->want_blocks)
		print_refs(t, entry + VSYSCALL_RET, &popped, 1);
	return ptrace(PTRACE_SETREGS, t->pid, 0, &t->regs) ? EV_ERROR : EV_STEP;
}

static void report_block(struct tracee *t, uint64_t pc)
{
	t->blocks++;
	if (t->want_blocks)
		print_block(t, pc);
}

/* @first: it began a block.  What follows it begins one anyhow. */
static void report_syscall(struct tracee *t, uint64_t pc, bool first)
{
	t->steps++;
	if (first)
		report_block(t, pc);
}

static void report(struct tracee *t, const struct insn *in, const struct ref *refs,
		   unsigned int n)
{
	t->steps++;
	if (t->new_block)
		report_block(t, in->pc);
	t->new_block = in->flags & INSN_BRANCH;
	t->refs += n;
	if (!t->want_blocks)
		print_refs(t, in->pc, refs, n);
	if (in->kind == KIND_UNKNOWN) {
		t->unknown++;
		fprintf(stderr, "step_oracle: cannot decode the instruction at %lx\n",
			(unsigned long)in->pc);
	}
}

/* Single-stepping set the trap flag; the program must not find it on its stack. */
static void mask_pushed_flags(struct tracee *t)
{
	uint16_t flags;

	if (mem_read(t, t->regs.rsp, &flags, 2) == 2 && (flags & TF)) {
		flags &= ~TF;
		mem_poke(t, t->regs.rsp, &flags, 2);
	}
}

/* Is this SIGTRAP stop a signal for the program, and the instruction not run? */
static bool is_own_trap(struct tracee *t, const struct insn *in,
			const struct user_regs_struct *before)
{
	int code;

	if (in->kind == KIND_INT3)
		return true;
	if (t->regs.rip != before->rip ||
	    ((in->flags & INSN_REP) && t->regs.rcx != before->rcx))
		return false;
	code = trap_code(t);
	return code != TRAP_TRACE && code != TRAP_BRKPT;
}

/* mov ss delays the trap: the instruction after it has run as well. */
static void report_shadowed(struct tracee *t, const struct insn *first,
			    struct user_regs_struct *before)
{
	struct ref refs[MAX_REFS];
	const struct insn *in;
	unsigned int n;

	before->rip += first->len;
	if (t->regs.rip == before->rip)
		return;
	in = code_get(t, before->rip);
	n = refs_of(t, in, before, refs);
	report(t, in, refs, n);
	if (in->flags & INSN_PUSHF)
		mask_pushed_flags(t);
}

/*
 * cpuid is executed here for the program: some hypervisors, which emulate it, do not raise the
 * trap after it, and the next instructions would run unseen.
 */
static enum event step_cpuid(struct tracee *t, const struct insn *in)
{
	struct user_regs_struct *r = &t->regs;
	uint32_t a = (uint32_t)r->rax, b, c = (uint32_t)r->rcx, d;

	__cpuid_count(a, c, a, b, c, d);
	r->rax = a;
	r->rbx = b;
	r->rcx = c;
	r->rdx = d;
	r->rip += in->len;
	if (ptrace(PTRACE_SETREGS, t->pid, 0, r))
		return EV_ERROR;
	report(t, in, NULL, 0);
	return EV_STEP;
}

static enum event step_plain(struct tracee *t, const struct insn *in)
{
	struct user_regs_struct before = t->regs;
	struct ref refs[MAX_REFS];
	struct insn copy;
	unsigned int n;
	enum event ev;

	n = refs_of(t, in, &t->regs, refs);
	ev = resume(t, PTRACE_SINGLESTEP, 0);
	if (ev != EV_STEP)
		return ev;
	if (get_regs(t))
		return EV_ERROR;
	if (is_own_trap(t, in, &before)) {
		t->sig = SIGTRAP;
		return EV_SIGNAL;
	}
	report(t, in, refs, n);
	if (in->flags & INSN_PUSHF)
		mask_pushed_flags(t);
	if (in->flags & INSN_SHADOW) {
		copy = *in;
		report_shadowed(t, &copy, &before);
	}
	return EV_STEP;
}

static enum event step(struct tracee *t)
{
	struct insn *in;
	enum event ev;
	bool first;

	if (t->restart)
		return step_syscall(t);
	if ((t->regs.rip & ~0xfffull) == VSYSCALL)
		return step_vsyscall(t);
	in = code_get(t, t->regs.rip);
	if (in->flags & INSN_CPUID)
		return step_cpuid(t, in);
	if (in->kind != KIND_SYSCALL)
		return step_plain(t, in);
	first = t->new_block;
	ev = step_syscall(t);
	/* exit, which never comes back, counts too */
	if (ev == EV_STEP || ev == EV_EXIT)
		report_syscall(t, in->pc, first);
	return ev;
}

/**
 * trace() - step the program from its first instruction to its end
 *
 * Return: 0 and t->status, or a negative errno.
 */
int trace(struct tracee *t)
{
	enum event ev;

	/* the exec that began the program is still to return */
	ev = step_syscall(t);
	t->new_block = true;
	unblock_trap(t);
	for (;;) {
		if (ev == EV_STEP)
			ev = step(t);
		while (ev == EV_SIGNAL || ev == EV_GROUP_STOP)
			ev = ev == EV_SIGNAL ? deliver(t) : group_stop(t);
		switch (ev) {
		case EV_STEP:
			break;
		case EV_EXIT:
			return 0;
		default:
			return -EIO;
		}
	}
}
