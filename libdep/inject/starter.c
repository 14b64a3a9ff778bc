// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A thread of the injector in a running process: it makes system calls, and starts the engine,
 * while the process's own threads run.
 *
 *	injector			guest, a thread of the process	starter
 *	guest is stopped
 *	stub, with its registers
 *					clone ------------------------>	stopped
 *	registers as before, released --------------------------------> system calls
 *					runs
 *
 * If the injector dies, the kernel releases both threads, and each continues in the stub: the
 * starter removes what was made until then (starter_undo.c) and exits, and the guest gets its
 * registers back.
 *
 * The stub is in unused bytes of the vdso's mapping, so that nothing stays mapped then.  The kernel
 * gives the process its own copy of that page.  If there is no room, the guest maps a page first.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "libdep/abi/restart.h"

#define SYSCALL_SIZE	2		/* bytes of a syscall instruction */
#define FLAGS		0x202		/* interrupts on, as in each thread */
#define CLONE_FLAGS	0x00050f00	/* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
#define CLOSE_UNSHARE	2		/* CLOSE_RANGE_UNSHARE */
#define PAUSE_NS	10000		/* pause between two looks at the thread */

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/** struct saved - state of the guest, behind the stub's code; its offsets are used there */
struct saved {
	u64 mask, flags, rip;
	u64 regs[16];	/* hardware order */
};

/*
 * The stub is copied to a page.  The starter makes its calls at the beginning, the guest at
 * dep_stub_guest.
 */
__asm__(".pushsection .rodata\n"
	"	.balign 16\n"
	"dep_stub:\n"
	"	syscall\n"
	"dep_stub_undo_code:\n"
	"1:	lea	dep_stub_list(%rip), %rbx\n"
	"	mov	0(%rbx), %rsi\n"		/* pending */
	"	test	%rsi, %rsi\n"
	"	jz	2f\n"
	"	cmp	$-4096, %rax\n"
	"	ja	2f\n"
	"	mov	%rax, %rdi\n"
	"	mov	$11, %eax\n"			/* munmap */
	"	syscall\n"
	"2:	mov	144(%rbx), %r12\n"		/* ncaught */
	"	lea	152(%rbx), %r13\n"		/* caught */
	"3:	dec	%r12\n"
	"	js	5f\n"
	"	mov	0(%r13), %r14\n"
	"	cmpb	$0xcc, (%r14)\n"
	"	jne	4f\n"
	"	mov	%r14, %rdi\n"
	"	and	$-4096, %rdi\n"
	"	mov	$4096, %esi\n"
	"	cmpl	$0, 12(%r13)\n"		/* of_file */
	"	je	8f\n"
	"	mov	$4, %edx\n"			/* MADV_DONTNEED */
	"	mov	$28, %eax\n"			/* madvise */
	"	syscall\n"
	"	test	%eax, %eax\n"
	"	jz	4f\n"
	"8:	mov	$7, %edx\n"			/* PROT_READ | PROT_WRITE | PROT_EXEC */
	"	mov	$10, %eax\n"			/* mprotect */
	"	syscall\n"
	"	test	%eax, %eax\n"
	"	jnz	4f\n"
	"	mov	8(%r13), %al\n"
	"	mov	%al, (%r14)\n"
	"	mov	$5, %edx\n"			/* PROT_READ | PROT_EXEC */
	"	mov	$10, %eax\n"
	"	syscall\n"
	"4:	add	$16, %r13\n"
	"	jmp	3b\n"
	"5:	mov	8(%rbx), %r12\n"		/* nmaps */
	"	lea	16(%rbx), %r13\n"		/* map */
	"6:	dec	%r12\n"
	"	js	7f\n"
	"	mov	0(%r13), %rdi\n"
	"	mov	8(%r13), %rsi\n"
	"	mov	$11, %eax\n"
	"	syscall\n"
	"	add	$16, %r13\n"
	"	jmp	6b\n"
	"7:	xor	%edi, %edi\n"
	"	mov	$60, %eax\n"			/* exit */
	"	syscall\n"
	"	jmp	7b\n"
	"dep_stub_guest:\n"
	"	syscall\n"
	"	test	%eax, %eax\n"
	"	jz	1b\n"				/* the child of clone */
	"	mov	$14, %eax\n"			/* rt_sigprocmask */
	"	mov	$2, %edi\n"			/* SIG_SETMASK */
	"	lea	dep_stub_saved(%rip), %rsi\n"
	"	xor	%edx, %edx\n"
	"	mov	$8, %r10d\n"
	"	syscall\n"
	"	lea	-128(%rsp), %rsp\n"		/* keep the red zone */
	"	pushq	dep_stub_saved+8(%rip)\n"
	"	popfq\n"
	"	lea	128(%rsp), %rsp\n"
	"	mov	dep_stub_saved+24(%rip), %rax\n"
	"	mov	dep_stub_saved+32(%rip), %rcx\n"
	"	mov	dep_stub_saved+40(%rip), %rdx\n"
	"	mov	dep_stub_saved+48(%rip), %rbx\n"
	"	mov	dep_stub_saved+56(%rip), %rsp\n"
	"	mov	dep_stub_saved+64(%rip), %rbp\n"
	"	mov	dep_stub_saved+72(%rip), %rsi\n"
	"	mov	dep_stub_saved+80(%rip), %rdi\n"
	"	mov	dep_stub_saved+88(%rip), %r8\n"
	"	mov	dep_stub_saved+96(%rip), %r9\n"
	"	mov	dep_stub_saved+104(%rip), %r10\n"
	"	mov	dep_stub_saved+112(%rip), %r11\n"
	"	mov	dep_stub_saved+120(%rip), %r12\n"
	"	mov	dep_stub_saved+128(%rip), %r13\n"
	"	mov	dep_stub_saved+136(%rip), %r14\n"
	"	mov	dep_stub_saved+144(%rip), %r15\n"
	"	jmp	*dep_stub_saved+16(%rip)\n"
	"	.balign 8\n"
	"dep_stub_saved:\n"
	"	.set dep_stub_list, dep_stub_saved + 152\n"
	"	.popsection\n");

_Static_assert(sizeof(struct saved) == 152, "dep_stub_list");
_Static_assert(offsetof(struct dep_undo_list, nmaps) == 8 &&
	       offsetof(struct dep_undo_list, map) == 16 &&
	       offsetof(struct dep_undo_list, ncaught) == 144 &&
	       offsetof(struct dep_undo_list, caught) == 152 &&
	       offsetof(struct adept_caught_pc, byte) == 8 &&
	       offsetof(struct adept_caught_pc, of_file) == 12, "offsets in the stub");

extern const unsigned char dep_stub[] __attribute__((visibility("hidden")));
extern const unsigned char dep_stub_guest[] __attribute__((visibility("hidden")));
extern const unsigned char dep_stub_saved[] __attribute__((visibility("hidden")));
extern const unsigned char dep_stub_undo_code[] __attribute__((visibility("hidden")));

#define CODE_SIZE	((u64)(dep_stub_saved - dep_stub))
#define WHOLE_SIZE	(CODE_SIZE + sizeof(struct saved) + sizeof(struct dep_undo_list))

static int cannot(pid_t pid, int err, struct dep_why *why)
{
	return dep_inject_error(why, -err, "Process %d cannot be controlled: %s.", pid,
				strerror(-err));
}

/* The state with which the guest goes on without a tracer: a call that was stopped is restarted. */
static struct saved state_of(const struct user_regs_struct *u, u64 mask)
{
	struct saved s = {
		.mask = mask, .flags = u->eflags, .rip = u->rip,
		.regs = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
			  u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 },
	};

	if ((s64)u->orig_rax < 0 || !adept_is_restart((s64)u->rax))
		return s;
	s.rip -= SYSCALL_SIZE;
	s.regs[0] = (s64)u->rax == -ADEPT_RESTART_BLOCK ? SYS_restart_syscall :
								   u->orig_rax;
	return s;
}

static int map_page(struct dep_starter *s, struct dep_remote *guest, struct dep_why *why)
{
	s64 at;

	guest->insn = s->vdso_call;
	at = dep_remote_call(guest, SYS_mmap, 0, ADEPT_PAGE, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0);
	if (at < 0 && at >= -4095)
		return dep_inject_error(why, (int)-at, "Process %d cannot map memory: %s.",
					guest->pid, strerror((int)-at));
	s->code = s->page = (u64)at;
	return 0;
}

static int write_stub(struct dep_starter *s, struct dep_remote *guest, struct dep_why *why)
{
	const struct saved saved = state_of(&guest->regs, guest->sigmask);
	int err;

	s->undo.mem = guest->mem;
	s->undo.at = s->code + CODE_SIZE + sizeof(saved);
	err = dep_memory_write(guest->mem, s->code, dep_stub, CODE_SIZE);
	if (!err)
		err = dep_memory_write(guest->mem, s->code + CODE_SIZE, &saved, sizeof(saved));
	if (!err)
		err = dep_memory_write(guest->mem, s->undo.at, &s->undo.list,
				       sizeof(s->undo.list));
	return err ? dep_inject_error(why, -err, "The memory of process %d cannot be written: %s.",
				      guest->pid, strerror(-err)) : 0;
}

/* Write the stub, to the vdso if possible. */
static int make_stub(struct dep_starter *s, struct dep_remote *guest,
		     const struct dep_address_space *space, struct dep_why *why)
{
	int err;

	s->code = dep_vdso_room(guest->mem, space, dep_stub, CODE_SIZE, WHOLE_SIZE);
	if (s->code && !write_stub(s, guest, why))
		return 0;
	err = map_page(s, guest, why);
	return err ? err : write_stub(s, guest, why);
}

/* No thread executes the stub any more: remove it from the vdso. */
static void clear_stub(const struct dep_starter *s)
{
	static const char zero[ADEPT_PAGE];

	if (s->code && !s->page)
		dep_memory_write(s->undo.mem, s->code, zero, WHOLE_SIZE);
}

u64 dep_starter_undo_code(const struct dep_starter *s)
{
	return s->code + (u64)(dep_stub_undo_code - dep_stub);
}

static time_t seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Wait until the new thread has stopped, before its first instruction. */
static int await(struct dep_starter *s, pid_t tid, int mem, struct dep_why *why)
{
	struct user_regs_struct *regs = &s->r.regs;
	int sig, stop;

	s->r = (struct dep_remote){ .pid = tid, .mem = mem, .insn = s->code, .running = true,
				    .undo = &s->undo,
				    .until = seconds_now() + DEP_STARTER_SECONDS };
	stop = dep_trace_wait(tid, true, &sig);
	if (stop < 0 || stop == DEP_STOP_DEAD || ptrace(PTRACE_GETREGS, tid, NULL, regs)) {
		s->r.pid = 0;
		return dep_inject_error(why, EAGAIN, "The thread that should start the engine "
					"was killed; try again.");
	}
	/* With the injector's priority. */
	setpriority(PRIO_PROCESS, (id_t)tid, getpriority(PRIO_PROCESS, 0));
	regs->rip = s->code + SYSCALL_SIZE;
	regs->eflags = FLAGS;
	regs->orig_rax = -1ull;
	ptrace(PTRACE_SETREGS, tid, NULL, regs);
	return 0;
}

static int create(struct dep_starter *s, struct dep_remote *guest, struct dep_why *why)
{
	const long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
	s64 ret;

	if (ptrace(PTRACE_SETOPTIONS, guest->pid, NULL, options | PTRACE_O_TRACECLONE))
		return cannot(guest->pid, -errno, why);
	guest->insn = s->code + (u64)(dep_stub_guest - dep_stub);
	guest->event = 0;
	ret = dep_remote_call(guest, SYS_clone, CLONE_FLAGS, 0, 0, 0, 0, 0);
	ptrace(PTRACE_SETOPTIONS, guest->pid, NULL, options);
	if (ret < 0)
		return dep_inject_error(why, (int)-ret, "Process %d cannot create the thread that "
					"should start the engine: %s.", guest->pid,
					strerror((int)-ret));
	return await(s, (pid_t)guest->event, guest->mem, why);
}

/*
 * Are these bytes in the memory of the guest?  If it has executed another program before it was
 * stopped, the memory that was opened before is another one.
 */
static bool guest_has(pid_t guest, u64 at, const void *bytes, size_t n)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, guest, at, NULL);
	return !errno && !memcmp(&word, bytes, n);
}

int dep_starter_make(struct dep_starter *s, pid_t pid, pid_t guest,
		     const struct user_regs_struct *regs, int mem,
		     const struct dep_address_space *space, struct dep_why *why)
{
	struct dep_remote g;
	int err;

	*s = (struct dep_starter){ .vdso_call = dep_vdso_call(mem, space) };
	/* The stub begins with a syscall instruction. */
	if (!s->vdso_call || !guest_has(guest, s->vdso_call, dep_stub, SYSCALL_SIZE))
		return dep_inject_error(why, EAGAIN, "Process %d has executed another program; "
					"try again.", pid);
	err = dep_remote_begin_running(&g, guest, mem, why);
	if (err)
		return err;
	g.regs = *regs;
	err = make_stub(s, &g, space, why);
	if (!err && !guest_has(guest, s->code, dep_stub, sizeof(long)))
		err = cannot(pid, -EAGAIN, why);
	if (!err)
		err = create(s, &g, why);
	if (err && s->page) {
		g.insn = s->vdso_call;
		dep_remote_call(&g, SYS_munmap, s->page, ADEPT_PAGE, 0, 0, 0, 0);
	}
	dep_remote_end(&g, regs);
	if (err && !g.event)
		clear_stub(s);
	s->r.files = pid;
	return err;
}

int dep_starter_own_files(struct dep_starter *s)
{
	int err = (int)dep_remote_call(&s->r, SYS_close_range, 0, ~0u, CLOSE_UNSHARE, 0, 0, 0);

	if (!err)
		s->r.files = 0;
	return err;
}

static int enter(struct dep_starter *s, u64 at, u64 arg)
{
	struct user_regs_struct regs = s->r.regs;

	regs.rip = at;
	regs.rdi = arg;
	return ptrace(PTRACE_SETREGS, s->r.pid, NULL, &regs) ? -errno : 0;
}

int dep_starter_run(struct dep_starter *s, u64 at, u64 arg, u64 reported)
{
	struct user_regs_struct regs;
	int err = enter(s, at, arg), status;

	do {
		if (!err)
			err = dep_remote_next_stop(&s->r);
		if (!err && ptrace(PTRACE_GETREGS, s->r.pid, NULL, &regs))
			err = -errno;
		if (err)
			return err;
	} while (regs.rip != reported);
	status = (int)regs.rdi;
	/* Number -1: the system call does not happen. */
	if (ptrace(PTRACE_SETREGS, s->r.pid, NULL, &s->r.regs))
		return -errno;
	err = dep_remote_next_stop(&s->r);
	if (!err && ptrace(PTRACE_SETREGS, s->r.pid, NULL, &s->r.regs))
		err = -errno;
	return err ? err : status;
}

/* waitpid(), at most until @until. */
static int wait_for(pid_t tid, time_t until, int *status)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	pid_t got;

	while (!(got = waitpid(tid, status, __WALL | WNOHANG)) || (got < 0 && errno == EINTR)) {
		if (seconds_now() >= until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return got < 0 ? -errno : 0;
}

/* Let the thread run until it ends. */
static int run_to_end(struct dep_starter *s)
{
	pid_t tid = s->r.pid;
	int err = 0, status = 0;

	s->r.pid = 0;
	while (!err && !ptrace(PTRACE_CONT, tid, NULL, (long)s->r.sig)) {
		s->r.sig = 0;
		err = wait_for(tid, s->r.until, &status);
		if (!err && WIFEXITED(status)) {
			clear_stub(s);
			return WEXITSTATUS(status);
		}
		/* The only signal that it can receive. */
		if (!err && WIFSTOPPED(status) && !(status >> 16) && WSTOPSIG(status) == SIGSTOP)
			*(s->r.stops ? &s->r.sig : &s->r.held) = SIGSTOP;
	}
	return err ? err : -ESRCH;
}

int dep_starter_last(struct dep_starter *s, u64 at, u64 arg)
{
	int err = enter(s, at, arg);

	if (!err)
		return run_to_end(s);
	s->r.pid = 0;
	return err;
}

/* Make the thread exit when it continues.  Return: 0, or a negative errno */
static int prepare_exit(struct dep_starter *s)
{
	struct user_regs_struct regs = s->r.regs;

	/* Not with an instruction in the page: the thread has to go on after it. */
	s->r.insn = s->vdso_call;
	if (s->page)
		dep_remote_call(&s->r, SYS_munmap, s->page, ADEPT_PAGE, 0, 0, 0, 0);
	regs.rip = s->vdso_call;
	regs.rax = SYS_exit;
	regs.rdi = 0;
	return ptrace(PTRACE_SETREGS, s->r.pid, NULL, &regs) ? -errno : 0;
}

void dep_starter_end(struct dep_starter *s)
{
	if (!s->r.pid)
		return;
	/* If it has not stopped, it goes on in the stub later. */
	if (!prepare_exit(s))
		clear_stub(s);
	ptrace(PTRACE_DETACH, s->r.pid, NULL, NULL);
	s->r.pid = 0;
}

int dep_starter_exit(struct dep_starter *s)
{
	int err = prepare_exit(s);

	if (!err)
		return run_to_end(s);
	ptrace(PTRACE_DETACH, s->r.pid, NULL, NULL);
	s->r.pid = 0;
	return err;
}
