// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Put the engine into a running process.
 *
 *	injector				first thread		others
 *	maps memory, by calls in the ---------> makes them
 *	first thread
 *	writes image and table of threads
 *	lets it run --------------------------> attach_prepare()
 *	waits for its int3 <------------------- attach_ready
 *	sets registers and detaches ----------------------------------> thread_attached
 *								late threads: int3 behind
 *								the system call, signal
 *								handler, thread_attached
 *
 * Until registers are set everything can be undone: only the first thread has run, in the engine.
 * See engine/os/attach.c for the other side.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "running.h"

#define FLAGS		0x202	/* interrupts on, as in each process */
#define INT3		0xcc

struct attaching {
	struct dep_attaching *a;
	struct dep_remote r;
	struct dep_address_space space;
	struct dep_plan plan;
	/* a SIGTRAP that the first thread is about to receive; si_signo is 0 if there is none */
	siginfo_t trap;
};

static int fill_entry(struct adept_attached *a, const struct dep_running *t, struct dep_why *why)
{
	const struct user_regs_struct *u = &t->regs;
	const u64 regs[16] = {
		u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
		u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15,
	};

	*a = (struct adept_attached){
		.rip = u->rip, .rflags = u->eflags, .fs_base = u->fs_base, .gs_base = u->gs_base,
		.call = (s64)u->orig_rax, .returned = t->returned, .tid = (u32)t->tid,
	};
	memcpy(a->regs, regs, sizeof(a->regs));
	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(a->mask), &a->mask))
		return dep_inject_error(why, errno, "Thread %d cannot be controlled: %m.", t->tid);
	return 0;
}

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
struct __ptrace_rseq_configuration {
	u64 rseq_abi_pointer;
	u32 rseq_abi_size, signature, flags, pad;
};
#endif
#define RSEQ_CS	8	/* offset of rseq_cs in struct rseq */

/*
 * A thread of a program with restartable sequences: in the code cache the kernel would not restart
 * them.  glibc registers each thread, but has none.  Kernels before 5.13 cannot say.
 */
static int check_rseq(int mem, pid_t tid, struct dep_why *why)
{
	struct __ptrace_rseq_configuration c = { 0 };
	u64 section = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, (void *)sizeof(c), &c) <= 0 ||
	    !c.rseq_abi_pointer)
		return 0;
	if (dep_memory_read(mem, c.rseq_abi_pointer + RSEQ_CS, &section, sizeof(section)) ||
	    !section)
		return 0;
	return dep_inject_error(why, ENOTSUP, "Thread %d uses restartable sequences (rseq), which "
				"cannot be recorded after an attach.", tid);
}

static int fill_table(struct dep_attaching *a, struct dep_why *why)
{
	u32 i, depth;
	int err = 0;

	for (i = 0; i < a->n && !err; i++) {
		if (a->thread[i].late) {
			a->table[i].late = 1;
			a->table[i].returned = a->thread[i].call;
			a->table[i].tid = dep_pidns_number((u32)a->thread[i].tid, &depth);
			if (!a->table[i].tid)
				return dep_inject_error(why, EAGAIN, "Thread %d has ended; try "
							"again.", a->thread[i].tid);
			continue;
		}
		err = check_rseq(a->mem, a->thread[i].tid, why);
		if (!err)
			err = fill_entry(&a->table[i], &a->thread[i], why);
	}
	return err;
}

static int map_table(struct attaching *g, struct dep_why *why)
{
	struct dep_attaching *a = g->a;
	s64 at;

	a->table_size = (a->n * sizeof(*a->table) + ADEPT_PAGE - 1) & ~(u64)(ADEPT_PAGE - 1);
	at = dep_remote_call(&g->r, SYS_mmap, 0, a->table_size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0);
	if (at < 0 && at >= -4095)
		return dep_inject_error(why, (int)-at, "Process %d cannot map memory: %s.",
					g->r.pid, strerror((int)-at));
	a->table_at = (u64)at;
	a->boot->attached = (u64)at;
	a->boot->attached_size = a->table_size;
	a->boot->nattached = a->n;
	return 0;
}

/* Is the thread at one of the engine's int3 instructions?  After one, rip is behind it. */
static bool is_at(const struct attaching *g, u64 int3)
{
	struct user_regs_struct regs;

	return !ptrace(PTRACE_GETREGS, g->r.pid, NULL, &regs) &&
	       regs.rip == g->a->boot->image + int3 + 1;
}

/*
 * Wait until the first thread stops in the engine.  There is no deadline: the thread does not wait
 * for anything, and a process that is half prepared cannot be left alone.
 */
static int wait_ready(struct attaching *g, struct dep_why *why)
{
	const struct adept_entries *entry = &g->a->t->entry;
	int stop, sig;

	for (;;) {
		stop = dep_trace_wait(g->r.pid, true, &sig);
		if (stop == DEP_STOP_DEAD || stop < 0)
			return dep_inject_error(why, ESRCH, "Process %d has ended.", g->r.pid);
		if (stop == DEP_STOP_SIGNAL && is_at(g, entry->ready))
			return 0;
		if (stop == DEP_STOP_SIGNAL && is_at(g, entry->failed))
			return dep_inject_error(why, ENOMEM, "The engine in process %d has not "
						"enough memory.", g->r.pid);
		/* SIGSTOP cannot be blocked, and SIGTRAP is not: it was pending or was sent. */
		if (stop == DEP_STOP_SIGNAL && sig != SIGTRAP)
			g->r.held = sig;
		else if (stop == DEP_STOP_SIGNAL && !g->trap.si_signo)
			ptrace(PTRACE_GETSIGINFO, g->r.pid, NULL, &g->trap);
		if (ptrace(PTRACE_CONT, g->r.pid, NULL, NULL))
			return dep_inject_error(why, errno, "Process %d cannot be controlled: %m.",
						g->r.pid);
	}
}

/* Let the first thread prepare the engine for all threads. */
static int prepare(struct attaching *g, struct dep_why *why)
{
	struct dep_attaching *a = g->a;
	const u64 mask = ~(1ull << (SIGTRAP - 1));
	size_t size = a->n * sizeof(*a->table);
	struct user_regs_struct regs = g->r.regs;
	int err;

	err = dep_memory_write(a->mem, a->table_at, a->table, size);
	if (err)
		return dep_inject_error(why, -err, "The memory of process %d cannot be written: "
					"%s.", g->r.pid, strerror(-err));
	regs.rip = a->boot->image + a->t->entry.start;
	regs.rdi = a->boot->image;
	regs.orig_rax = -1ull;
	regs.eflags = FLAGS;
	/* For an int3 the kernel would reset the action of a SIGTRAP that is blocked. */
	if (ptrace(PTRACE_SETSIGMASK, g->r.pid, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETREGS, g->r.pid, NULL, &regs) ||
	    ptrace(PTRACE_CONT, g->r.pid, NULL, NULL))
		return dep_inject_error(why, errno, "Process %d cannot be controlled: %m.",
					g->r.pid);
	err = wait_ready(g, why);
	if (err)
		return err;
	err = dep_memory_read(a->mem, a->table_at, a->table, size);
	return err ? dep_inject_error(why, -err, "The memory of process %d cannot be read: %s.",
				      g->r.pid, strerror(-err)) : 0;
}

/* One that cannot be moved has been killed. */
static void move(const struct dep_attaching *a, u32 i)
{
	struct user_regs_struct regs = a->thread[i].regs;
	const u64 all = ~0ull;
	pid_t tid = a->thread[i].tid;

	regs.rip = a->boot->image + a->t->entry.thread;
	/* The process could have changed it: a wrong value harms only itself. */
	regs.rdi = a->table[i].tls;
	regs.orig_rax = -1ull;
	regs.eflags = FLAGS;
	/* A blocked signal with which a thread is detached is queued again. */
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all);
	ptrace(PTRACE_SETREGS, tid, NULL, &regs);
	ptrace(PTRACE_DETACH, tid, NULL, (long)a->thread[i].sig);
}

static int inject(struct attaching *g, int proc, struct dep_injected *out, struct dep_why *why)
{
	const struct dep_origin from = { .cause = ADEPT_BY_ATTACH };
	const struct dep_target *t = g->a->t;
	struct adept_boot *b = g->a->boot;
	int err;

	err = dep_address_space_read_used(&g->space, g->r.pid, proc, why);
	if (!err)
		err = dep_plan_fits(&g->space, t, &out->base, why);
	if (!err)
		err = dep_remote_find_syscall(&g->r, &g->space, true, why);
	if (!err)
		err = dep_slot_claim(t, from.domain, &out->proc, why);
	if (err)
		return err;
	b->proc = out->proc;
	b->cause = from.cause;
	b->ns = dep_pidns_of(g->r.pid);
	b->ptracer = (u32)t->ptracer;
	err = map_table(g, why);
	if (err)
		goto drop;
	err = dep_make_engine(&g->plan, t, b, why);
	if (err)
		goto unmap;
	dep_slot_live(t, out->proc, out->pid, b->ns & ADEPT_NS_TIDS, &from, &out->serial);
	dep_slot(t, out->proc)->self = b->image;
	err = prepare(g, why);
	if (!err)
		return 0;
	dep_plan_undo(&g->plan);
unmap:
	dep_remote_call(&g->r, SYS_munmap, g->a->table_at, g->a->table_size, 0, 0, 0, 0);
drop:
	dep_slot_drop(t, out->proc);
	return err;
}

/* Make sure that no system call of the engine ends the process. */
static int check_filters(pid_t tid, int task, struct dep_why *why)
{
	FILE *f = dep_proc_file(task, "status");
	unsigned int mode = 1;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Seccomp: %u", &mode);
	if (f)
		fclose(f);
	return mode ? dep_inject_error(why, ENOTSUP, "Thread %d has a seccomp filter, which may "
				       "end the process if it is attached to.", tid) : 0;
}

/* Each thread has its own ids, capabilities and filters. */
static int check_thread(struct dep_attaching *a, int proc, pid_t tid, struct dep_why *why)
{
	char name[32];
	int task, err;

	snprintf(name, sizeof(name), "task/%d", tid);
	task = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task < 0)
		return dep_inject_error(why, EAGAIN, "Thread %d has ended; try again.", tid);
	err = dep_judge(task, &a->t->base, false, &a->base, why);
	if (!err)
		err = check_filters(tid, task, why);
	close(task);
	return err;
}

int dep_running_begin(struct dep_attaching *a, const struct dep_target *t, int proc,
		      struct dep_running *thread, u32 n, struct adept_boot *boot,
		      struct dep_why *why)
{
	int err = 0;
	u32 i;

	*a = (struct dep_attaching){ .t = t, .thread = thread, .n = n, .boot = boot, .mem = -1 };
	memset(boot, 0, sizeof(*boot));
	for (i = 0; i < n && !err; i++)
		err = check_thread(a, proc, thread[i].tid, why);
	if (err)
		return err;
	a->mem = dep_memory_open(proc);
	if (a->mem < 0)
		return dep_inject_error(why, -a->mem, "The process's memory cannot be opened: %s.",
					strerror(-a->mem));
	a->table = calloc(n, sizeof(*a->table));
	return a->table ? 0 : dep_inject_error(why, ENOMEM, "No memory.");
}

static bool is_caught(const struct adept_boot *b, u64 pc)
{
	for (u64 i = 0; i < b->ncaught; i++)
		if (b->caught[i].pc == pc)
			return true;
	return false;
}

/* Is @pc in a private mapping?  A write to a shared one would change other processes' memory. */
static bool is_private(int proc, u64 pc)
{
	unsigned long long start, end;
	FILE *f = dep_proc_file(proc, "maps");
	char line[512], perms[5];
	bool private = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx %4s", &start, &end, perms) == 3 && pc >= start &&
		    pc < end) {
			private = perms[3] == 'p';
			break;
		}
	}
	if (f)
		fclose(f);
	return private;
}

int dep_running_catch(struct dep_attaching *a, int proc, struct dep_why *why)
{
	const u8 int3 = INT3;
	struct adept_boot *b = a->boot;
	u8 byte;
	int err;
	u32 i;

	for (i = 0; i < a->n; i++) {
		if (!a->thread[i].late || is_caught(b, a->thread[i].pc))
			continue;
		if (b->ncaught == ADEPT_CAUGHT_PCS)
			return dep_inject_error(why, EAGAIN, "The threads wait in system calls at "
						"more than %u places.", ADEPT_CAUGHT_PCS);
		err = is_private(proc, a->thread[i].pc) ? 0 : -EPERM;
		if (!err)
			err = dep_memory_read(a->mem, a->thread[i].pc, &byte, 1);
		if (!err && byte == INT3)
			err = -EBUSY;
		if (!err)
			err = dep_memory_write(a->mem, a->thread[i].pc, &int3, 1);
		if (err)
			return dep_inject_error(why, -err, "Thread %d cannot be caught after its "
						"system call: %s.", a->thread[i].tid,
						strerror(-err));
		b->caught[b->ncaught++] = (struct adept_caught_pc){ a->thread[i].pc, byte };
	}
	return 0;
}

void dep_running_release(struct dep_attaching *a)
{
	const struct adept_boot *b = a->boot;
	u8 byte;

	for (u64 i = 0; i < b->ncaught; i++) {
		/* The program may have put other code there. */
		if (dep_memory_read(a->mem, b->caught[i].pc, &byte, 1) || byte != INT3)
			continue;
		byte = (u8)b->caught[i].byte;
		dep_memory_write(a->mem, b->caught[i].pc, &byte, 1);
	}
}

bool dep_running_caught(const struct dep_attaching *a, const struct user_regs_struct *regs)
{
	return is_caught(a->boot, regs->rip - 1);
}

static int begin(struct attaching *g, int proc, struct dep_injected *out, struct dep_why *why)
{
	struct dep_attaching *a = g->a;
	u32 i = 0;
	int err;

	/* A signal would be lost when the thread makes system calls. */
	while (i < a->n && (a->thread[i].late || a->thread[i].sig))
		i++;
	if (i == a->n)
		return dep_inject_error(why, EAGAIN, "All threads of process %d that have stopped "
					"are about to receive signals; try again.", out->pid);
	g->plan = (struct dep_plan){ .r = &g->r, .space = &g->space };
	err = fill_table(a, why);
	if (!err)
		err = dep_remote_begin_running(&g->r, a->thread[i].tid, a->mem, why);
	if (err)
		return err;
	err = inject(g, proc, out, why);
	if (err)
		dep_remote_end(&g->r, NULL);
	dep_address_space_free(&g->space);
	return err;
}

int dep_running_inject(struct dep_attaching *a, pid_t pid, int proc, struct dep_injected *out,
		       struct dep_why *why)
{
	struct attaching g = { .a = a };
	int err;
	u32 i;

	memset(out, 0, sizeof(*out));
	out->pid = pid;
	out->base = a->base;
	err = begin(&g, proc, out, why);
	if (err)
		return err;
	for (i = 0; i < a->n; i++) {
		if (a->thread[i].late)
			continue;
		/* It is about to receive the SIGTRAP of an int3: replace that. */
		if (g.trap.si_signo && a->thread[i].tid == g.r.pid &&
		    !ptrace(PTRACE_SETSIGINFO, g.r.pid, NULL, &g.trap))
			a->thread[i].sig = SIGTRAP;
		move(a, i);
	}
	if (g.r.held)
		kill(pid, g.r.held);
	return 0;
}

void dep_running_end(struct dep_attaching *a)
{
	if (a->mem >= 0)
		close(a->mem);
	free(a->table);
	a->table = NULL;
	a->mem = -1;
}
