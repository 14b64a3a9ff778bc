// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads and processes that the application creates.
 *
 * A child that shares memory starts in thread_main() on a runtime stack and TLS
 * block that its parent made for it; a forked child goes on in its copy of the
 * parent's.
 */
#include "exec.h"
#include "mem.h"
#include "rest.h"
#include "signal.h"
#include "syscall.h"
#include "thread.h"
#include "../record/record.h"
#include "../translate/dispatch.h"

#define CLONE_VM		0x00000100
#define CLONE_VFORK		0x00004000
#define CLONE_SIGHAND		0x00000800
#define CLONE_SETTLS		0x00080000
#define CLONE_CLEAR_SIGHAND	0x100000000ull
#define CLONE_THREAD		0x00010000
#define CLONE_CHILD_CLEARTID	0x00200000
#define K_SIGCHLD		17

#define STACK_SIZE		(64u << 10)
#define SIGSTACK_SIZE		(64u << 10)
#define TLS_SIZE		ALIGN_UP(sizeof(struct tls), 64)

static struct lock threads_lock;
static struct tls *threads, *retired;

s64 thread_clone(u64 nr, const u64 args[6], struct tls *child);
__attribute__((noreturn)) void thread_vanish(u32 *gone, u64 nr, u64 status);
u8 *thread_main(struct tls *t);

/* A block whose thread has drawn its last breath, if there is one; threads_lock held. */
static struct tls *reuse(void)
{
	for (struct tls **pp = &retired; *pp; pp = &(*pp)->next) {
		struct tls *t = *pp;

		if (__atomic_load_n(&t->gone, __ATOMIC_ACQUIRE)) {
			*pp = t->next;
			return t;
		}
	}
	return NULL;
}

static void enlist(struct tls *t)
{
	t->group->nthreads++;
	t->next = threads;
	t->pprev = &threads;
	if (threads)
		threads->pprev = &t->next;
	threads = t;
}

static void delist(struct tls *t)
{
	if (!--t->group->nthreads)
		heap_free(t->group, sizeof(*t->group));
	*t->pprev = t->next;
	if (t->next)
		t->next->pprev = t->pprev;
}

struct tls *thread_alloc(struct group *g)
{
	struct tls *t;
	u64 scratch = 0;

	lock(&threads_lock);
	t = reuse();
	unlock(&threads_lock);
	if (t) {
		scratch = t->scratch_chunk;
		memset(t, 0, sizeof(*t));
	} else {
		t = heap_alloc(TLS_SIZE + STACK_SIZE + SIGSTACK_SIZE);
	}
	t->self = (u64)t;
	t->scratch_chunk = scratch;
	t->stack_top = (u64)t + TLS_SIZE + STACK_SIZE;
	t->sig_stack = t->stack_top;
	t->sig_stack_size = SIGSTACK_SIZE;
	t->app_altstack[1] = 2;		/* SS_DISABLE */
	t->flags = 0x202;
	t->group = g ? g : heap_alloc(sizeof(*g));
	t->rest = REST_RESTS;
	lock(&threads_lock);
	enlist(t);
	unlock(&threads_lock);
	return t;
}

/* The block may be reused once t->gone is set. */
void thread_free(struct tls *t)
{
	signal_disinherit(t);
	lock(&threads_lock);
	delist(t);
	t->next = retired;
	retired = t;
	unlock(&threads_lock);
}

u32 thread_each_other(const struct tls *t, u32 (*f)(struct tls *o, u32 arg), u32 arg)
{
	u32 sum = 0;

	lock(&threads_lock);
	for (struct tls *o = threads; o; o = o->next)
		if (o != t && o->group == t->group)
			sum += f(o, arg);
	unlock(&threads_lock);
	return sum;
}

struct tls *thread_first(void)
{
	struct tls *t = thread_alloc(NULL);

	exec_process_init();
	memcpy(t->regs, boot.regs, sizeof(t->regs));
	t->flags = boot.rflags;
	t->fs_base = boot.fs_base;
	t->app_gs_base = boot.gs_base;
	t->tid = (u32)sys0(__NR_gettid);
	t->resume_pc = boot.rip;
	t->rest = REST_RUNS;
	return t;
}

/* ---- exit ---- */

static void block_signals(u64 *old)
{
	u64 all = ~0ull;

	sys4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)&all, (u64)old, 8);
}

static void restore_signals(const u64 *old)
{
	sys4(__NR_rt_sigprocmask, 2, (u64)old, 0, 8);
}

void thread_exit(struct tls *t, u64 status)
{
	u64 old;

	block_signals(&old);
	ring_thread_end(t, (u32)status);
	thread_free(t);
	thread_vanish(&t->gone, __NR_exit, status);
}

void thread_exit_group(struct tls *t, u64 status)
{
	u64 old;

	block_signals(&old);
	rest_stop_others(t, (u32)status);
	ring_thread_end(t, (u32)status);
	for (;;)
		sys1(__NR_exit_group, status);
}

/* ---- fork ---- */

static void take_process_slot(u32 cause, u32 parent)
{
	struct adept_session *s = session();
	struct adept_proc *v = (struct adept_proc *)(boot.session + s->proc_off);

	for (u32 i = 0; i < s->nprocs; i++) {
		u32 k = (boot.proc + i) % s->nprocs, free = ADEPT_SLOT_FREE;
		struct adept_proc *p = &v[k];

		if (!__atomic_compare_exchange_n(&p->state, &free, ADEPT_SLOT_CLAIMED, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		p->serial = __atomic_fetch_add(&s->next_serial, 1, __ATOMIC_RELAXED);
		p->pid = (u32)sys0(__NR_getpid);
		p->parent_serial = parent;
		p->exec_state = ADEPT_EXEC_NONE;
		p->cause = cause;
		p->start_ns = rt_now();
		p->desc_head = p->desc_tail = 0;
		boot.proc = k;
		sys3(__NR_mprotect, boot.session + s->desc_off + (u64)k * s->desc_size,
		     s->desc_size, K_PROT_READ | K_PROT_WRITE);
		__atomic_store_n(&p->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
		__atomic_add_fetch(&s->doorbell, 1, __ATOMIC_SEQ_CST);
		futex_wake(&s->doorbell, 1);
		return;
	}
	__atomic_add_fetch(&s->lost_procs, 1, __ATOMIC_RELAXED);
	fatal("more than %u recorded processes at once", s->nprocs);
}

static void forked_child(struct tls *t)
{
	threads = retired = NULL;
	t->held = 0;
	t->group = heap_alloc(sizeof(*t->group));
	enlist(t);
	t->tid = (u32)sys0(__NR_gettid);
	/* Without recording, too: execve needs a slot of its own. */
	if (recording())
		record_forget_exits();
	take_process_slot(ADEPT_BY_FORK, t->parent_process);
	exec_process_init();
	ring_thread_start(t, t->tid, t->parent_serial, t->resume_pc - 2);
	ring_context(t, t->resume_pc);
}

/* The child gets a copy of everything: nobody else may be in the middle of it. */
static s64 fork_process(struct tls *t, u64 nr, u64 a[6], u64 flags, u64 stack, u64 tls)
{
	u64 old;
	s64 ret;

	/* The child may begin when this is another image, or none, and our slots others'. */
	t->parent_process = proc_slot()->serial;
	t->parent_serial = t->ring ? t->ring->serial : 0;
	block_signals(&old);
	lock(&frag_lock);
	lock(&threads_lock);
	heap_lock_for_fork(1);
	ret = sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	heap_lock_for_fork(0);
	unlock(&threads_lock);
	unlock(&frag_lock);
	if (!ret) {
		t->regs[X86_RAX] = 0;
		t->regs[X86_RCX] = t->resume_pc;
		t->regs[X86_R11] = t->flags;
		if (stack)
			t->regs[X86_RSP] = stack;
		if (flags & CLONE_SETTLS)
			t->fs_base = tls;
		if (flags & CLONE_CLEAR_SIGHAND)
			signal_clear(t);
		forked_child(t);
	}
	restore_signals(&old);
	return ret;
}

/* ---- threads, vfork ---- */

u8 *thread_main(struct tls *t)
{
	u64 mask = t->blocked_mask;

	t->tid = (u32)sys0(__NR_gettid);
	rest_end(t);
	if (t->clear_handlers)
		signal_clear(t);
	signal_thread_init(t, NULL);
	ring_thread_start(t, t->tid, t->parent_serial, t->created_at);
	ring_context(t, t->resume_pc);
	restore_signals(&mask);
	return dispatch_to(t, t->resume_pc, KNOWN_ALL);
}

/* The child has gone on to another image or has ended. */
static void vfork_done(struct tls *child)
{
	struct adept_thread *r = child->ring;

	exec_vfork_done(child->tid);
	if (r)
		ring_thread_lost(child);
	if (!__atomic_load_n(&child->gone, __ATOMIC_ACQUIRE)) {
		thread_free(child);
		__atomic_store_n(&child->gone, 1, __ATOMIC_RELEASE);
	}
}

static s64 clone_thread(struct tls *t, u64 nr, u64 a[6], u64 flags, u64 stack, u64 tls)
{
	struct tls *child = thread_alloc(flags & CLONE_THREAD ? t->group : NULL);
	u64 old;
	s64 ret;

	memcpy(child->regs, t->regs, sizeof(t->regs));
	child->regs[X86_RAX] = 0;
	child->regs[X86_RCX] = t->resume_pc;
	child->regs[X86_R11] = t->flags;
	if (stack)
		child->regs[X86_RSP] = stack;
	child->flags = t->flags;
	child->fs_base = flags & CLONE_SETTLS ? tls : t->fs_base;
	child->app_gs_base = t->app_gs_base;
	child->resume_pc = t->resume_pc;
	child->created_at = t->resume_pc - 2;
	child->parent_serial = t->ring ? t->ring->serial : 0;
	child->sync_blocked = t->sync_blocked;
	child->clear_handlers = !!(flags & CLONE_CLEAR_SIGHAND);
	signal_inherit(child, t, !!(flags & CLONE_SIGHAND));
	if (!(flags & CLONE_THREAD))
		memcpy(child->app_altstack, t->app_altstack, sizeof(t->app_altstack));
	block_signals(&old);
	child->blocked_mask = old;
	ring_room(t);
	rest_begin(t);
	ret = thread_clone(nr, a, child);
	rest_end(t);
	restore_signals(&old);
	if (ret < 0) {
		thread_free(child);
		child->gone = 1;
	} else if (flags & CLONE_VFORK) {
		vfork_done(child);
	}
	return ret;
}

struct clone_args {
	u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	u64 set_tid, set_tid_size, cgroup;
	u64 future[5];
};

s64 thread_sys_clone(struct tls *t, u64 nr, u64 a[6])
{
	u64 flags = K_SIGCHLD, stack = 0, tls = 0, child_tid = 0;
	struct adept_ev_fork ev;
	struct clone_args c;
	s64 ret;

	memset(&c, 0, sizeof(c));
	switch (nr) {
	case __NR_vfork:
		flags |= CLONE_VM | CLONE_VFORK;
		break;
	case __NR_clone:
		flags = a[0];
		stack = a[1];
		child_tid = a[3];
		tls = a[4];
		a[1] = 0;
		break;
	case __NR_clone3:
		if (a[1] < 64 || a[1] > sizeof(c))
			return -E_INVAL;
		if (rt_copy_in(&c, (void *)a[0], a[1]) != a[1])
			return -E_FAULT;
		flags = c.flags;
		stack = c.stack + c.stack_size;
		if (!!c.stack != !!c.stack_size)
			return -E_INVAL;
		child_tid = c.child_tid;
		tls = c.tls;
		/* With both the kernel must refuse; else the engine's own must stay. */
		if (!(flags & CLONE_SIGHAND))
			c.flags &= ~CLONE_CLEAR_SIGHAND;
		c.stack = c.stack_size = 0;
		a[0] = (u64)&c;
		break;
	}
	ret = flags & CLONE_VM ? clone_thread(t, nr, a, flags, stack, tls) :
				 fork_process(t, nr, a, flags, stack, tls);
	if (ret > 0) {
		ev = (struct adept_ev_fork){
			(u32)ret, (u32)flags, t->before,
			flags & CLONE_CHILD_CLEARTID ? child_tid : 0,
		};
		ring_event(t, ADEPT_EV_FORK, &ev, sizeof(ev));
	}
	return ret;
}
