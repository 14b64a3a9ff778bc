// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Attach: start the engine in a process that is already running.
 *
 *	injector			its own thread		all threads
 *	writes image			in the process
 *	lets its thread run --------->	boot_build()		run natively
 *	stops all threads
 *	writes table of threads
 *	lets its thread run --------->	boot_limits()
 *					boot_commit()
 *					exit
 *	sets the registers of all ---------------------------->	thread_attached
 *								thread_main(): state,
 *								mask, ring
 *								the interrupted call, or
 *								the next instruction
 *
 * Threads in system calls that must not be interrupted enter the engine later, when the calls
 * return: see late.c.
 */
#include "attach.h"
#include "exec.h"
#include "late.h"
#include "sigframe.h"
#include "sigaction.h"
#include "signal.h"
#include "syscall.h"
#include "thread.h"
#include "libdep/engine/base/thread_list.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/stack.h"

#define PR_GET_TID_ADDRESS 40

static struct tls *prepare(struct adept_attached *a, struct tls *first)
{
	struct tls *t = thread_alloc(first ? first->group : NULL);

	t->tid = a->tid;
	t->attached = a;
	a->tls = (u64)t;
	late_expect(a);
	return t;
}

void attach_take_state(struct tls *t)
{
	const struct adept_attached *a = t->attached;

	memcpy(t->regs, a->regs, sizeof(t->regs));
	t->flags = a->rflags;
	t->fs_base = a->fs_base;
	t->app_gs_base = a->gs_base;
	t->resume_pc = a->rip;
	t->sync_blocked = a->mask & SYNC_SIGNALS;
	/* A late thread has a signal that must be delivered before others. */
	t->blocked_mask = t->pending & PENDING_SIGNAL ? ~SYNC_SIGNALS : a->mask & ~SYNC_SIGNALS;
	t->interrupted_call = a->call;
}

static u64 tid_address(void)
{
	u64 at = 0;

	return sys6(__NR_prctl, PR_GET_TID_ADDRESS, (u64)&at, 0, 0, 0, 0) ? 0 : at;
}

static void record_how(struct tls *t)
{
	const struct adept_attached *a = t->attached;
	const u64 *r = t->regs;
	struct adept_ev_attach ev = {
		.tid = t->tid, .kind = ADEPT_ATTACH_RUNNING, .nr = -1,
		.tid_address = t->tid_address, .timestamp = rt_timestamp(),
	};

	if (a->returned >= 0)
		ev.kind = ADEPT_ATTACH_RETURNED;
	else if (t->interrupted_call >= 0)
		ev.kind = ADEPT_ATTACH_CALL;
	if (ev.kind != ADEPT_ATTACH_RUNNING) {
		const u64 args[6] = {
			r[X86_RDI], r[X86_RSI], r[X86_RDX], r[X86_R10], r[X86_R8], r[X86_R9],
		};

		ev.nr = a->returned >= 0 ? a->returned : t->interrupted_call;
		memcpy(ev.args, args, sizeof(ev.args));
	}
	ring_event(t, ADEPT_EV_ATTACH, &ev, sizeof(ev));
}

void attach_record(struct tls *t)
{
	/* pthread_join() waits for the word at this address. */
	t->tid_address = tid_address();
	if (t->ring)
		t->ring->tid_address = t->tid_address;
	record_how(t);
	stack_record(t, t->attached->stack_end);
	ring_record_context(t, t->resume_pc);
	if (t->attached->returned < 0)
		return;
	t->before = rt_timestamp();
	syscall_record(t, (u64)t->attached->returned, (s64)t->regs[X86_RAX]);
	/* The events may have begun a new chunk. */
	ring_record_context(t, t->resume_pc);
}

int attach_fits(u32 n)
{
	return n <= boot.heap_size / 2 / thread_memory();
}

void attach_forget(void)
{
	struct tls *t;

	while ((t = thread_list_first())) {
		thread_free(t);
		t->gone = 1;
	}
}

void attach_make_room(struct adept_attached *thread, u32 n)
{
	struct tls *t = NULL;

	for (u32 i = 0; i < n; i++) {
		t = thread_alloc(t ? t->group : NULL);
		thread[i].tls = (u64)t;
	}
	for (u32 i = 0; i < n; i++) {
		t = (struct tls *)thread[i].tls;
		thread_list_retire(t);
		t->gone = 1;
	}
}

void attach_all(struct adept_attached *thread, u32 n)
{
	struct tls *first;

	late_expect_none();
	first = prepare(&thread[0], NULL);
	set_gs_base(first);
	exec_process_init();
	for (u32 i = 1; i < n; i++)
		prepare(&thread[i], first);
	sigaction_init(first);
	for (u32 i = 1; i < n; i++)
		sigaction_inherit((struct tls *)thread[i].tls, first, 1);
}
