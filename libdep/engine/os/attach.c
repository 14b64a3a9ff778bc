// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Attach: start the engine in a process that is already running.
 *
 *	injector			the first thread	all threads
 *	stops all threads
 *	writes image and table
 *	lets one thread run --------->	boot_main()
 *					attach_prepare()
 *	waits <-----------------------	attach_ready: int3
 *	sets the registers of all ---------------------------->	thread_attached
 *								thread_main(): state,
 *								mask, ring
 *								the interrupted call, or
 *								the next instruction
 *
 * Threads in system calls that must not be interrupted enter the engine later, when the calls
 * return.
 *
 * Until attach_ready nothing that the program can see has changed, except the signal actions, whose
 * old values are in the table of handlers.
 */
#include "attach.h"
#include "exec.h"
#include "sigframe.h"
#include "signal.h"
#include "thread.h"

__attribute__((noreturn)) void attach_ready(void);

static struct tls *prepare(struct adept_attached *a, struct tls *first)
{
	struct tls *t = thread_alloc(first ? first->group : NULL);

	t->tid = a->tid;
	t->attached = a;
	a->tls = (u64)t;
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
	t->blocked_mask = a->mask & ~SYNC_SIGNALS;
	t->interrupted_call = a->call;
}

void attach_prepare(struct adept_attached *thread, u32 n)
{
	struct tls *first = prepare(&thread[0], NULL);

	set_gs_base(first);
	exec_process_init();
	for (u32 i = 1; i < n; i++)
		prepare(&thread[i], first);
	signal_init(first);
	for (u32 i = 1; i < n; i++)
		signal_inherit((struct tls *)thread[i].tls, first, 1);
	attach_ready();
}
