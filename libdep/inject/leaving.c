// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Move the threads of a process out of the engine: the tracer's part of engine/os/leave.c.
 *
 * What is read from the process's memory may be anything: it decides only what happens to this
 * process.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "leaving.h"
#include "owner.h"
#include "libdep/abi/restart.h"
#include "libdep/abi/stream.h"

#define PAUSE_NS	20000	/* pause between two looks at a thread */
#define PAUSES		250000	/* give up after 5 s or more */
#define STOP_PAUSE_NS	10000000	/* maximum time between two stops of a thread */
#define STOPS		1000	/* give up after so many */
#define TRAP_QUEUED	(-1)	/* si_code SI_QUEUE, by which the engine knows its SIGTRAP */

static u32 state_of(const struct dep_leaving *l)
{
	return __atomic_load_n(&l->slot->leave, __ATOMIC_SEQ_CST);
}

static void set_state(struct dep_leaving *l, u32 state)
{
	__atomic_store_n(&l->slot->leave, state, __ATOMIC_SEQ_CST);
}

/* ---- begin and end ---- */

static int ask_process(struct dep_leaving *l, struct dep_why *why)
{
	u32 none = ADEPT_LEAVE_NONE;

	if (state_of(l) == ADEPT_LEAVE_PAUSED)
		return dep_inject_error(why, EALREADY, "Process %d is paused already.", l->pid);
	if (state_of(l) != ADEPT_LEAVE_NONE)
		return dep_inject_error(why, EBUSY, "Process %d is being detached from already.",
					l->pid);
	l->owner = dep_slot_own(l->t, l->slot);
	if (!l->owner)
		return dep_inject_error(why, ENOMEM, "No memory.");
	l->slot->pausing = l->pause;
	if (__atomic_compare_exchange_n(&l->slot->leave, &none, ADEPT_LEAVE_ASKED, 0,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	dep_owner_free(l->owner);
	l->owner = NULL;
	return dep_inject_error(why, EBUSY, "Process %d is being detached from already.", l->pid);
}

/* The recorder, which follows the execve, must be able to trace the thread. */
static int refuse_exec(const struct adept_proc *p, pid_t pid, struct dep_why *why)
{
	if (__atomic_load_n(&p->exec_state, __ATOMIC_SEQ_CST) == ADEPT_EXEC_NONE)
		return 0;
	return dep_inject_error(why, EBUSY, "Process %d is about to execute another program; try "
				"again.", pid);
}

int dep_leaving_begin(struct dep_leaving *l, const struct dep_target *t, u32 slot, pid_t pid,
		      int proc, bool pause, struct dep_why *why)
{
	struct adept_proc *p = dep_slot(t, slot);
	int err;

	*l = (struct dep_leaving){
		.t = t, .slot = p, .pid = pid, .mem = -1, .pause = pause,
		.serial = __atomic_load_n(&p->serial, __ATOMIC_RELAXED),
	};
	if (pause && dep_slot_domain(t, slot))
		return dep_inject_error(why, ENOTSUP, "Process %d has given up rights since it was "
					"started, and cannot be paused.", pid);
	if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != ADEPT_SLOT_LIVE ||
	    p->pid != (u32)pid)
		return dep_inject_error(why, ESRCH, "Process %d is not recorded any more.", pid);
	err = refuse_exec(p, pid, why);
	if (err)
		return err;
	l->mem = dep_memory_open(proc);
	/* EACCES: it is not dumpable now, but may be soon. */
	if (l->mem < 0)
		return dep_inject_error(why, l->mem == -EACCES ? EAGAIN : -l->mem,
					"The memory of process %d cannot be opened: %s.", pid,
					strerror(-l->mem));
	/* It could not be resumed. */
	err = pause ? dep_refuse_rseq_sections(proc, pid, why) : 0;
	if (!err)
		err = dep_engine_find(t, p, pid, l->mem, &l->boot, why);
	if (!err)
		err = ask_process(l, why);
	if (err) {
		close(l->mem);
		l->mem = -1;
	}
	return err;
}

static void wake_collector(const struct dep_leaving *l)
{
	struct adept_session *s = l->t->session;

	__atomic_add_fetch(&s->wakeup, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &s->wakeup, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void dep_leaving_end(struct dep_leaving *l, bool left)
{
	if (l->mem < 0)
		return;
	/* Its memory is that of a process which has died meanwhile. */
	dep_unmapper_free(l);
	/* After an execve, another process can have the slot. */
	if (__atomic_load_n(&l->slot->serial, __ATOMIC_RELAXED) == l->serial)
		set_state(l, !left ? ADEPT_LEAVE_NONE : l->pause ? ADEPT_LEAVE_PAUSED :
								     ADEPT_LEAVE_LEFT);
	close(l->mem);
	l->mem = -1;
	wake_collector(l);
}

void dep_leaving_free(struct dep_leaving *l)
{
	dep_owner_free(l->owner);
	l->owner = NULL;
}

bool dep_leaving_is_orphan(const struct dep_target *t, u32 slot)
{
	const struct adept_proc *p = dep_slot(t, slot);

	u32 state = __atomic_load_n(&p->leave, __ATOMIC_SEQ_CST);

	return (state == ADEPT_LEAVE_LEAVING || state == ADEPT_LEAVE_LAST) &&
	       adept_owner_died(&p->leave_tracer);
}

/* ---- before the commit ---- */

int dep_leaving_check(const struct dep_leaving *l, struct dep_why *why)
{
	u64 word;

	if (dep_memory_read(l->mem, l->boot.image, &word, sizeof(word)))
		return dep_inject_error(why, ESTALE, "Process %d has executed another program; try "
					"again.", l->pid);
	return refuse_exec(l->slot, l->pid, why);
}

bool dep_leaving_in_call(const struct dep_leaving *l, u64 pc)
{
	return pc - l->boot.image == l->t->entry.call_done;
}

bool dep_leaving_outside(const struct dep_leaving *l, u64 pc)
{
	return pc - l->boot.image >= l->boot.image_size;
}

u64 dep_leaving_wait_pc(const struct dep_leaving *l)
{
	return l->boot.image + l->t->entry.wait_done;
}

bool dep_leaving_waits(const struct dep_leaving *l, u64 pc)
{
	return pc - l->boot.image == l->t->entry.wait_done;
}

bool dep_leaving_has_come(const struct dep_leaving *l, const struct dep_leaver *th)
{
	u64 waits;

	return th->tls && !th->native &&
	       !dep_memory_read(l->mem, th->tls + 8 * ADEPT_GS_WAITS, &waits, sizeof(waits)) &&
	       waits;
}

/* Make the thread continue as if the system call had not been made. */
static int abort_call(const struct dep_leaving *l, pid_t tid, const struct user_regs_struct *from)
{
	struct user_regs_struct regs = *from;

	regs.rip = l->boot.image + l->t->entry.call_abort;
	regs.orig_rax = -1ull;
	return ptrace(PTRACE_SETREGS, tid, NULL, &regs) ? -ESRCH : 0;
}

static int write_kept(const struct dep_leaving *l, const struct user_regs_struct *regs,
		      struct adept_kept *k)
{
	return dep_memory_write(l->mem, regs->gs_base + 8 * ADEPT_GS_KEPT, k, sizeof(*k));
}

/*
 * Make signals stay pending until the thread runs natively.
 *
 * The mask is put into the process's memory: if the tracer dies, or gives up, the thread itself
 * sets it again.
 */
static int block_signals(const struct dep_leaving *l, pid_t tid,
			 const struct user_regs_struct *regs, struct adept_kept *k)
{
	const u64 all = ~0ull;
	int err;

	err = dep_memory_read(l->mem, regs->gs_base + 8 * ADEPT_GS_KEPT, k, sizeof(*k));
	if (err || k->blocked)
		return err;
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(k->mask), &k->mask))
		return -ESRCH;
	k->blocked = 1;
	err = write_kept(l, regs, k);
	if (!err && ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all))
		err = -ESRCH;
	return err;
}

/*
 * The thread's system call is to be made again, or to return what it has returned, when the thread
 * runs natively.  If a signal is pending then, the kernel decides which of the two it is.
 */
static int keep_call(const struct dep_leaving *l, pid_t tid, const struct user_regs_struct *regs)
{
	struct adept_kept k;
	int err = block_signals(l, tid, regs, &k);

	if (!err)
		err = abort_call(l, tid, regs);
	if (err)
		return err;
	/* If the tracer dies before this, the call is made again as a whole. */
	k.aborted = 1;
	k.call = (s64)regs->orig_rax;
	k.code = (s64)regs->rax;
	return write_kept(l, regs, &k);
}

static bool has_called(const struct dep_leaving *l, const struct user_regs_struct *regs)
{
	return dep_leaving_in_call(l, regs->rip) && (s64)regs->orig_rax >= 0;
}

/* Make a thread that executes the engine's code stop before it enters the code cache. */
static void set_pending(const struct dep_leaving *l, const struct user_regs_struct *regs)
{
	u64 at = regs->gs_base + 8 * ADEPT_GS_PENDING, pending;

	if (dep_memory_read(l->mem, at, &pending, sizeof(pending)))
		return;
	pending |= ADEPT_PENDING_STOP;
	dep_memory_write(l->mem, at, &pending, sizeof(pending));
}

/* Make a thread leave the code cache: there the signal is never blocked. */
static void send_trap(const struct dep_leaving *l, pid_t tid)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGTRAP;
	info.si_code = TRAP_QUEUED;
	info.si_value.sival_ptr = (void *)(uintptr_t)l->boot.image;
	syscall(SYS_rt_tgsigqueueinfo, l->pid, tid, SIGTRAP, &info);
}

/* The gs base of a thread in the engine is the address of its tls, which begins with it. */
static bool is_in_engine(const struct dep_leaving *l, u64 gs_base)
{
	u64 self;

	return gs_base - l->boot.heap < l->boot.heap_size &&
	       !dep_memory_read(l->mem, gs_base, &self, sizeof(self)) && self == gs_base;
}

int dep_leaving_ask(struct dep_leaving *l, struct dep_leaver *th,
		    const struct user_regs_struct *regs, bool again)
{
	const struct adept_entries *entry = &l->t->entry;
	u64 at = regs->rip - l->boot.image;

	th->ready = false;
	th->tls = regs->gs_base;
	th->native = dep_leaving_outside(l, regs->rip) && !is_in_engine(l, regs->gs_base);
	if (th->native)
		return 0;
	if (at == entry->wait_done) {
		th->ready = true;
		return 0;
	}
	if (at >= entry->call_first && at < entry->call_done)
		return abort_call(l, th->tid, regs);
	if (has_called(l, regs) && again)
		return abort_call(l, th->tid, regs);
	if (has_called(l, regs) && adept_is_restart((s64)regs->rax))
		return keep_call(l, th->tid, regs);
	if (at < l->boot.image_size)
		set_pending(l, regs);
	else
		send_trap(l, th->tid);
	return 0;
}

/* ---- the commit and after ---- */

/*
 * The process does not do what the engine does, or is extremely slow.  The tracer's death makes its
 * threads go on without a tracer, in whatever state the handshake is.
 */
__attribute__((noreturn))
static void give_up(void)
{
	_exit(1);
}

/* Stop a thread that waits, or that is about to wait. */
static int stop_waiting(const struct dep_leaving *l, pid_t tid, struct user_regs_struct *regs)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	unsigned int stops;
	int stop, sig;

	for (stops = 0; stops < STOPS; stops++) {
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		stop = dep_trace_wait_used(tid, &sig);
		if (stop == DEP_STOP_DEAD || stop < 0 || ptrace(PTRACE_GETREGS, tid, NULL, regs))
			return -ESRCH;
		/* All signals are blocked: one is queued again, except SIGSTOP. */
		if ((stop == DEP_STOP_INTERRUPT || stop == DEP_STOP_GROUP) &&
		    dep_leaving_waits(l, regs->rip))
			return 0;
		/* The last thread has not waited any longer. */
		if (dep_leaving_outside(l, regs->rip))
			return -ESRCH;
		ptrace(PTRACE_CONT, tid, NULL, (long)(stop == DEP_STOP_SIGNAL ? sig : 0));
		nanosleep(&pause, NULL);
		/* If it is stopped again before it gets a processor, it gets nowhere. */
		if (pause.tv_nsec < STOP_PAUSE_NS)
			pause.tv_nsec *= 2;
	}
	give_up();
}

/* Let a thread that runs go on if it has stopped to receive a signal.  Return: 0, or -ESRCH */
static int keep_going(pid_t tid)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int sig, stop = dep_trace_wait(tid, false, &sig);

	if (stop == DEP_STOP_DEAD || stop < 0)
		return -ESRCH;
	if (stop != DEP_STOP_NONE)
		ptrace(PTRACE_CONT, tid, NULL, (long)(stop == DEP_STOP_SIGNAL ? sig : 0));
	nanosleep(&pause, NULL);
	return 0;
}

/* Wait until the thread has ended the recording, or has found that it cannot. */
static int wait_committed(struct dep_leaving *l, pid_t tid)
{
	unsigned int pauses = 0;
	u32 state;

	while ((state = state_of(l)) == ADEPT_LEAVE_COMMIT || state == ADEPT_LEAVE_COMMITTING) {
		if (++pauses > PAUSES)
			give_up();
		if (keep_going(tid))
			return -ESRCH;
	}
	return state == ADEPT_LEAVE_LEAVING ? 0 : -EAGAIN;
}

int dep_leaving_commit(struct dep_leaving *l, struct dep_leaver *th)
{
	struct user_regs_struct regs;
	int err, stopped;

	set_state(l, ADEPT_LEAVE_COMMIT);
	ptrace(PTRACE_CONT, th->tid, NULL, NULL);
	err = wait_committed(l, th->tid);
	if (err == -EAGAIN)
		set_state(l, ADEPT_LEAVE_ASKED);
	stopped = err == -ESRCH ? 0 : stop_waiting(l, th->tid, &regs);
	return stopped ? stopped : err;
}

int dep_leaving_signal(struct dep_leaving *l, struct dep_leaver *th,
		       const struct user_regs_struct *regs, bool again)
{
	struct adept_kept k;

	if (has_called(l, regs) && again)
		return abort_call(l, th->tid, regs);
	if (has_called(l, regs))
		return keep_call(l, th->tid, regs);
	return block_signals(l, th->tid, regs, &k);
}

static bool is_caught(const struct dep_leaving *l, u64 pc)
{
	for (u64 i = 0; i < l->boot.ncaught && i < ADEPT_CAUGHT_PCS; i++)
		if (l->boot.caught[i].pc == pc)
			return true;
	return false;
}

void dep_leaving_release(const struct dep_leaving *l, pid_t tid, int sig)
{
	struct user_regs_struct regs;

	/* The engine has removed the int3 since the thread has met it. */
	if (sig == SIGTRAP && !ptrace(PTRACE_GETREGS, tid, NULL, &regs) &&
	    is_caught(l, regs.rip - 1)) {
		regs.rip--;
		ptrace(PTRACE_SETREGS, tid, NULL, &regs);
		sig = 0;
	}
	ptrace(PTRACE_DETACH, tid, NULL, (long)sig);
}

/*
 * Let the last thread unmap all but the image: the process cannot create another thread.
 * @regs: receives its registers
 */
static int unmap_most(struct dep_leaving *l, pid_t tid, struct user_regs_struct *regs)
{
	u64 at = l->boot.image + offsetof(struct adept_boot, unmapped), done = 0;
	unsigned int pauses = 0;
	int err = 0;

	set_state(l, ADEPT_LEAVE_LAST);
	ptrace(PTRACE_CONT, tid, NULL, NULL);
	while (!done && !err) {
		if (++pauses > PAUSES)
			give_up();
		err = keep_going(tid);
		if (!err)
			err = dep_memory_read(l->mem, at, &done, sizeof(done));
	}
	if (!err)
		err = stop_waiting(l, tid, regs);
	if (err)
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return err;
}

/*
 * Unmap the image.  If the tracer dies in this moment, the thread has the registers of a system
 * call that it did not make.
 *
 * Return: 1 if it is still mapped.
 */
static int unmap_image(const struct dep_leaving *l, pid_t tid)
{
	struct dep_address_space vdso = { .vdso = l->boot.vdso, .vdso_size = l->boot.vdso_size };
	struct dep_remote r;
	struct dep_why why;
	s64 ret;

	if (dep_remote_begin_running(&r, tid, l->mem, &why) ||
	    dep_remote_find_syscall(&r, &vdso, true, &why))
		return 1;
	ret = dep_remote_call(&r, SYS_munmap, l->boot.image, l->boot.image_size, 0, 0, 0, 0);
	if (r.held)
		kill(l->pid, r.held);
	return ret < 0;
}

/* The engine is not mapped if the process has died, or has executed another program. */
static bool is_mapped(const struct dep_leaving *l)
{
	u64 word;

	return !dep_memory_read(l->mem, l->boot.image, &word, sizeof(word));
}

/*
 * Until it is unmapped, the engine's memory counts towards limits that the program has again.  So
 * it must go before the last thread runs natively, which would otherwise have less than its limit.
 */
static bool has_limits(const struct dep_leaving *l)
{
	struct rlimit space, data;

	if (prlimit(l->pid, RLIMIT_AS, NULL, &space) || prlimit(l->pid, RLIMIT_DATA, NULL, &data))
		return true;
	return space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

int dep_leaving_unmap(struct dep_leaving *l)
{
	return l->unmapper ? dep_unmapper_run(l) : 0;
}

int dep_leaving_move(struct dep_leaving *l, struct dep_leaver *th, bool last)
{
	struct user_regs_struct regs;
	bool by_itself = false;
	struct adept_leaver s;
	int ret = 0;
	u64 mask;

	if (ptrace(PTRACE_GETREGS, th->tid, NULL, &regs))
		return -ESRCH;
	if (last)
		by_itself = dep_unmapper_make(l, th->tid, &regs);
	if (by_itself)
		ret = unmap_most(l, th->tid, &regs);
	/* If the thread has died, an execve or the end of the process removes the memory. */
	if (ret)
		return ret == -ESRCH ? ret : is_mapped(l);
	if (dep_memory_read(l->mem, regs.rbx, &s, sizeof(s)))
		return -ESRCH;
	if (by_itself)
		ret = unmap_image(l, th->tid);
	regs.rax = s.regs[0];
	regs.rcx = s.regs[1];
	regs.rdx = s.regs[2];
	regs.rbx = s.regs[3];
	regs.rsp = s.regs[4];
	regs.rbp = s.regs[5];
	regs.rsi = s.regs[6];
	regs.rdi = s.regs[7];
	regs.r8 = s.regs[8];
	regs.r9 = s.regs[9];
	regs.r10 = s.regs[10];
	regs.r11 = s.regs[11];
	regs.r12 = s.regs[12];
	regs.r13 = s.regs[13];
	regs.r14 = s.regs[14];
	regs.r15 = s.regs[15];
	regs.rip = s.rip;
	regs.eflags = s.rflags;
	regs.gs_base = s.gs_base;
	regs.orig_rax = (u64)s.call;
	mask = s.mask | s.sync_blocked;
	/* In this order: if the tracer dies in between, the thread leaves by itself. */
	if (ptrace(PTRACE_SETSIGMASK, th->tid, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETREGS, th->tid, NULL, &regs))
		return -ESRCH;
	if (last && has_limits(l))
		ret |= dep_leaving_unmap(l);
	ptrace(PTRACE_DETACH, th->tid, NULL, NULL);
	th->ready = false;
	return ret;
}
