// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Detach, or pause: give the process back to itself.
 *
 *	tracer				each thread		one of the threads
 *	leave = ASKED; stops threads
 *	and makes them leave the cache,
 *	except those in system calls
 *	that a stop would end --------> leave_wait()
 *	leave = COMMIT ---------------------------------------> commit(): ends the
 *								streams, sets the kernel's
 *								signal actions
 *	<------------------------------------------------------ leave = LEAVING
 *	sets registers and mask ------> native code
 *	threads in system calls: the
 *	same when they return --------> leave_wait()
 *	leave = LAST -----------------> the last thread: leave_unmap()
 *	unmaps the rest; leave = LEFT
 *
 * In a pause the engine stays in memory, with its fragments.  When all threads have left, leave
 * becomes PAUSED.
 *
 * A thread that waits has its signals blocked, so those that arrive are delivered natively.
 *
 * If the tracer dies before LEAVING, the threads go on in the engine.  If it dies later, each
 * leaves alone, and the engine stays mapped.
 */
#include "leave.h"
#include "sigaction.h"
#include "sigframe.h"
#include "sigmask.h"
#include "signal.h"
#include "syscall.h"
#include "tsc.h"
#include "libdep/abi/restart.h"
#include "libdep/engine/base/rlimit.h"
#include "libdep/engine/base/thread_list.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"
#include "libdep/engine/translate/code_map.h"
#include "libdep/engine/translate/dispatch.h"

#define SYSCALL_SIZE	2	/* size of the syscall instruction in bytes */
#define LAST_PAUSES	10	/* pauses of 0.1 s before the last thread leaves by itself */
#define K_SIGSTOP	19
#define ALL_BLOCKED	(~(SIGBIT(K_SIGKILL) | SIGBIT(K_SIGSTOP)))

void leave_pause(struct adept_leaver *s);
__attribute__((noreturn)) void leave_alone(const struct adept_leaver *s);
__attribute__((noreturn)) void leave_last(void);
__attribute__((noreturn)) void leave_unmap(void);

static struct adept_leaver last;	/* state of the last thread, in the image */

static u64 set_signal_mask(u64 mask)
{
	u64 old = 0;

	sys4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)&mask, (u64)&old, 8);
	return old;
}

/*
 * Without a tracer the thread executes the syscall instruction again, as the kernel would make it
 * do.
 */
static void restart_call(struct adept_leaver *s)
{
	s64 code = (s64)s->regs[X86_RAX];

	if (s->call < 0)
		return;
	s->regs[X86_RAX] = code == -ADEPT_RESTART_BLOCK ? __NR_restart_syscall : (u64)s->call;
	s->rip -= SYSCALL_SIZE;
}

static int paused;	/* 1: the threads have left, or are about to */
static struct group *leaving;
static u32 nbusy;

static void hold(struct tls *t)
{
	u32 rests = STOP_SAFEPOINT;

	if (t->group != leaving ||
	    !__atomic_compare_exchange_n(&t->stop_state, &rests, STOP_STOPPED, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		nbusy++;
}

static void let_go(struct tls *t)
{
	u32 held = STOP_STOPPED;

	__atomic_compare_exchange_n(&t->stop_state, &held, STOP_SAFEPOINT, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* Return: 0 if a thread is not at a safe point, a vfork child runs, or an execve is under way. */
static int hold_all(struct tls *t)
{
	if (__atomic_load_n(&t->group->stop, __ATOMIC_SEQ_CST) ||
	    __atomic_load_n(&proc_slot()->exec_state, __ATOMIC_SEQ_CST) != ADEPT_EXEC_NONE)
		return 0;
	leaving = t->group;
	nbusy = 0;
	thread_each(hold);
	if (!nbusy)
		return 1;
	thread_each(let_go);
	return 0;
}

/* The memory limits stay raised, since the engine's memory still counts. */
static void pause(void)
{
	thread_each(ring_thread_pause);
	ring_wakeup();
	code_pause();
	ring_close_chunks();
	paused = 1;
}

/* A child that a thread creates when it runs natively must not get the engine's memory. */
static void end(void)
{
	thread_each(ring_thread_leave);
	ring_wakeup();
	rlimit_exec_begin(1);
	mem_keep_from_children();
}

int leave_has_paused(void)
{
	return paused;
}

void leave_resume(void)
{
	code_resume();
	paused = 0;
	__atomic_store_n(&proc_slot()->leave, ADEPT_LEAVE_NONE, __ATOMIC_SEQ_CST);
}

/*
 * End the recording, while all threads wait or are in system calls of the program.  The latter go
 * on in the engine when they return, unrecorded, until they wait, too.
 *
 * As all are held, nobody else takes locks, so their order does not matter.
 */
static void commit(struct tls *t)
{
	u32 done = ADEPT_LEAVE_BUSY;

	tsc_take_again(t->tsc_forbidden);
	if (hold_all(t)) {
		sigaction_restore(t);
		code_restore_caught();
		code_unprotect_range(0, ~0ull);
		if (proc_slot()->pausing)
			pause();
		else
			end();
		thread_each(let_go);
		done = ADEPT_LEAVE_LEAVING;
	}
	tsc_give_back(t->tsc_forbidden);
	__atomic_store_n(&proc_slot()->leave, done, __ATOMIC_SEQ_CST);
}

static int change(u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&proc_slot()->leave, &from, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static void without_tracer(struct adept_leaver *s, u32 state)
{
	if (state == ADEPT_LEAVE_COMMITTING) {
		leave_pause(s);
	} else if (state < ADEPT_LEAVE_LEAVING) {
		change(state, ADEPT_LEAVE_NONE);
	} else {
		restart_call(s);
		leave_alone(s);
	}
}

/*
 * The last thread unmaps the engine, but for the image, in which it executes.  It has no tls any
 * more, and does not see the slot: it takes a tracer that does not come for dead.
 */
void leave_unmap(void)
{
	for (u64 i = 0; i < boot.nmappings; i++)
		sys2(__NR_munmap, boot.mapping[i].start, boot.mapping[i].size);
	__atomic_store_n(&boot.unmapped, 1, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < LAST_PAUSES; i++)
		leave_pause(&last);
	restart_call(&last);
	leave_alone(&last);
}

/* Without an owner, the state is not a tracer's: another process of the session has written it. */
static int is_alone(const struct adept_proc *p)
{
	return adept_owner_died(&p->leave_tracer) ||
	       !__atomic_load_n(&p->leave_tracer, __ATOMIC_SEQ_CST);
}

/* Wait until the tracer has moved the thread.  Returns if it gives up. */
static void wait_for_tracer(struct tls *t, struct adept_leaver *s)
{
	struct adept_proc *p = proc_slot();
	u32 state;

	while ((state = __atomic_load_n(&p->leave, __ATOMIC_SEQ_CST)) != ADEPT_LEAVE_NONE) {
		if (is_alone(p))
			without_tracer(s, state);
		else if (state == ADEPT_LEAVE_COMMIT && change(state, ADEPT_LEAVE_COMMITTING))
			commit(t);
		else if (state != ADEPT_LEAVE_LAST)
			leave_pause(s);
		else
			break;
	}
	if (state != ADEPT_LEAVE_LAST)
		return;
	last = *s;
	leave_last();
}

/* Undo what the tracer has changed: the thread leaves as if it had not been stopped. */
static void apply_kept(struct tls *t, struct adept_leaver *s)
{
	const struct adept_kept *k = &t->kept;

	/* If the tracer has died before it blocked them, the thread may have changed its mask. */
	if (k->blocked && s->mask == ALL_BLOCKED)
		s->mask = k->mask;
	if (k->aborted) {
		if (s->call < 0)
			s->rip += SYSCALL_SIZE;
		s->regs[X86_RAX] = (u64)k->code;
		if (!adept_is_restart(k->code))
			s->call = -1;
		else if (s->call < 0)
			s->call = k->call;
	}
	memset(&t->kept, 0, sizeof(t->kept));
}

static void get_state(const struct tls *t, struct adept_leaver *s)
{
	memcpy(s->regs, t->regs, sizeof(s->regs));
	s->rip = t->resume_pc;
	s->rflags = t->flags;
	s->gs_base = t->app_gs_base;
	s->sync_blocked = t->sync_blocked;
}

void leave_wait(struct tls *t, s64 call)
{
	struct adept_proc *p = proc_slot();
	struct adept_leaver s = { .call = call };

	t->interrupted_call = call;
	ring_reserve_end(t);
	/* At a safe point no other thread sends SIGTRAP, which would stay pending. */
	safepoint_enter(t);
	s.mask = set_signal_mask(~0ull);
	if (t->pending & PENDING_SIGNAL) {
		/* Its delivery sets the mask. */
		t->kept.blocked = 0;
		set_signal_mask(s.mask);
		safepoint_leave(t);
		return;
	}
	get_state(t, &s);
	apply_kept(t, &s);
	signal_give_back(t);
	tsc_give_back(t->tsc_forbidden);
	__atomic_store_n(&t->waits, (u64)&s, __ATOMIC_RELEASE);
	__atomic_add_fetch(&p->leavers, 1, __ATOMIC_SEQ_CST);
	futex_wake(&p->leavers, 1);
	wait_for_tracer(t, &s);
	__atomic_store_n(&t->waits, 0, __ATOMIC_RELEASE);
	memcpy(t->regs, s.regs, sizeof(t->regs));
	t->resume_pc = s.rip;
	t->interrupted_call = s.call;
	tsc_take_again(t->tsc_forbidden);
	signal_take_again(t);
	safepoint_leave(t);
	set_signal_mask(s.mask);
}

u8 *leave(struct tls *t)
{
	leave_wait(t, -1);
	if (t->interrupted_call >= 0)
		return syscall_go_on(t);
	return dispatch_resume(t);
}
