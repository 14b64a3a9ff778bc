// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads and processes that the application creates.
 *
 * A child that shares memory starts in thread_main(), with a runtime stack and TLS block that its
 * parent allocated.  A forked child continues on its copy of the parent's stack.
 */
#include "attach.h"
#include "exec.h"
#include "libdep/engine/translate/code_map.h"
#include "late.h"
#include "mlock.h"
#include "native_child.h"
#include "stop_world.h"
#include "rights.h"
#include "libdep/engine/base/rlimit.h"
#include "libdep/engine/base/thread_list.h"
#include "seccomp.h"
#include "sigaction.h"
#include "signal.h"
#include "syscall.h"
#include "thread.h"
#include "tsc.h"
#include "libdep/engine/record/process_slots.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"
#include "libdep/engine/record/thread_slots.h"
#include "libdep/engine/translate/dispatch.h"

#define CLONE_VM		0x00000100
#define CLONE_VFORK		0x00004000
#define CLONE_SIGHAND		0x00000800
#define CLONE_SETTLS		0x00080000
#define CLONE_CLEAR_SIGHAND	0x100000000ull
#define CLONE_NEWPID		0x20000000
#define CLONE_NEWUSER		0x10000000
#define CLONE_THREAD		0x00010000
#define CLONE_CHILD_CLEARTID	0x00200000
#define K_SIGCHLD		17
#define PR_SET_PTRACER		0x59616d61

#define STACK_SIZE		(64u << 10)
#define SIGSTACK_SIZE		(64u << 10)
#define TLS_SIZE		ALIGN_UP(sizeof(struct tls), 64)

s64 thread_clone(u64 nr, const u64 args[6], struct tls *child);
__attribute__((noreturn)) void thread_vanish(u32 *gone, u64 nr, u64 status);
u8 *thread_main(struct tls *t);

struct tls *thread_alloc(struct group *g)
{
	struct tls *t;
	u64 scratch = 0;

	t = thread_list_reuse();
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
	t->stop_state = STOP_SAFEPOINT;
	thread_list_add(t);
	return t;
}

u64 thread_memory(void)
{
	return TLS_SIZE + STACK_SIZE + SIGSTACK_SIZE;
}

void thread_free(struct tls *t)
{
	sigaction_disinherit(t);
	thread_list_retire(t);
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
	t->stop_state = STOP_RUNNING;
	return t;
}

/* ---- exit of threads and processes ---- */

static void block_signals(u64 *old)
{
	u64 all = ~0ull;

	sys4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)&all, (u64)old, 8);
}

static void restore_signals(const u64 *old)
{
	sys4(__NR_rt_sigprocmask, 2, (u64)old, 0, 8);
}

/*
 * A signal has arrived since the thread has left the cache.  Its handler runs before the system
 * call, as natively: a child must not handle it, nor have the mask with which it waits, and a
 * thread that ends must not take it along.
 */
static int signal_first(const struct tls *t, const u64 *old)
{
	if (!(t->pending & (PENDING_SIGNAL | PENDING_HELD)))
		return 0;
	restore_signals(old);
	return 1;
}

/* All signals are blocked. */
__attribute__((noreturn))
static void end(struct tls *t, u64 status)
{
	LOG(ADEPT_LOG_THREAD, "thread ends");
	ring_thread_end(t, (u32)status);
	thread_free(t);
	thread_vanish(&t->gone, __NR_exit, status);
}

void thread_end(struct tls *t, u64 status)
{
	u64 old;

	block_signals(&old);
	end(t, status);
}

s64 thread_exit(struct tls *t, u64 status)
{
	u64 old;

	block_signals(&old);
	if (signal_first(t, &old))
		return SYS_ABORTED;
	end(t, status);
}

void thread_exit_group(struct tls *t, u64 status)
{
	const u64 args[6] = { status };
	u64 old;

	LOG(ADEPT_LOG_THREAD, "process ends with status %u", (u32)status);
	block_signals(&old);
	stop_world(t, (u32)status);
	ring_thread_end(t, (u32)status);
	for (;;)
		filtered_syscall(__NR_exit_group, args);
}

/* ---- fork ---- */

/*
 * Permit the tracer to trace this process.  Yama permits tracing by ancestors and by one process
 * that the traced process has named.  A new process has not named one yet, so this overrides no
 * choice of the program.
 */
static void allow_tracing(void)
{
	if (boot.ptracer)
		sys6(__NR_prctl, PR_SET_PTRACER, boot.ptracer, 0, 0, 0, 0);
}

static void forked_child(struct tls *t)
{
	thread_list_forked(t);
	t->held = 0;
	t->own_process = 0;
	t->tid_address = t->child_tid_address;
	t->tid = (u32)sys0(__NR_gettid);
	allow_tracing();
	/* In another pid namespace, the ids of this process are unknown to the collector. */
	if (boot.ns & ADEPT_NS_CHILDREN)
		boot.ns |= ADEPT_NS_TIDS | ADEPT_NS_PID;
	/* Take a slot even if nothing is recorded, because execve needs one. */
	if (recording())
		record_forget_exits();
	process_slot_take(ADEPT_BY_FORK, t->parent_process);
	exec_process_init();
	mlock_forked();
	late_forked();
	LOG(ADEPT_LOG_THREAD, "process begins by fork");
	ring_thread_start(t, t->tid, t->parent_serial, t->resume_pc - 2);
	ring_record_context(t, t->resume_pc);
}

/* Fork with all locks held, so that the child's copies of data are consistent. */
static s64 fork_process(struct tls *t, u64 nr, u64 a[6], u64 flags, u64 stack, u64 tls)
{
	u64 old;
	s64 ret;

	/*
	 * Store the parent's serials now: when the child begins, the parent may have ended or
	 * executed another image, and its slots may belong to others.
	 */
	t->parent_process = proc_slot()->serial;
	t->parent_serial = t->ring ? t->ring->serial : 0;
	block_signals(&old);
	if (signal_first(t, &old))
		return SYS_ABORTED;
	lock(&frag_lock);
	record_forking();
	slots_hold(1);
	thread_list_lock_for_fork(1);
	heap_lock_for_fork(1);
	rlimit_lock_for_fork(1);
	sigaction_lock_for_fork(1);
	ret = filtered_syscall(nr, a);
	sigaction_lock_for_fork(0);
	rlimit_lock_for_fork(0);
	heap_lock_for_fork(0);
	thread_list_lock_for_fork(0);
	slots_hold(0);
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
			sigaction_clear(t);
		if (!children_wanted())
			native_child_leave(t, old);
		forked_child(t);
	}
	restore_signals(&old);
	if (!ret && flags & CLONE_NEWUSER)
		rights_new_namespace(t);
	return ret;
}

/* ---- threads, vfork ---- */

u8 *thread_main(struct tls *t)
{
	u64 mask;

	if (t->attached)
		attach_take_state(t);
	mask = t->blocked_mask;
	t->tid = (u32)sys0(__NR_gettid);
	if (t->attached)
		t->tsc_forbidden = tsc_permit();
	safepoint_leave(t);
	if (t->own_process && t->unwanted)
		native_child_count();
	else if (t->own_process)
		allow_tracing();
	if (t->clear_handlers)
		sigaction_clear(t);
	if (t->attached)
		signal_keep_altstack(t);
	signal_thread_init(t);
	LOG(ADEPT_LOG_THREAD, "%s begins at %lx", t->own_process ? "vfork child" :
	    t->attached ? "attached thread" : "thread", t->resume_pc);
	if (t->unwanted)
		ring_thread_unwanted(t);
	else
		ring_thread_start(t, t->tid, t->parent_serial, t->created_at);
	if (t->attached) {
		attach_record(t);
		late_entered(t);
	} else {
		ring_record_context(t, t->resume_pc);
	}
	restore_signals(&mask);
	if (t->attached && t->interrupted_call >= 0)
		return syscall_go_on(t);
	return dispatch_to(t, t->resume_pc, KNOWN_ALL);
}

/* The vfork child has executed another image or has ended: release its thread state. */
static void vfork_done(struct tls *child)
{
	struct adept_thread *r = child->ring;

	exec_vfork_done(child->tid);
	if (r)
		ring_thread_vanished(child);
	if (!__atomic_load_n(&child->gone, __ATOMIC_ACQUIRE)) {
		thread_free(child);
		__atomic_store_n(&child->gone, 1, __ATOMIC_RELEASE);
	}
}

static s64 clone_thread(struct tls *t, u64 nr, u64 a[6], u64 flags, u64 stack, u64 tls)
{
	struct tls *child;
	u64 old;
	s64 ret;

	block_signals(&old);
	if (signal_first(t, &old))
		return SYS_ABORTED;
	child = thread_alloc(flags & CLONE_THREAD ? t->group : NULL);
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
	child->tid_address = t->child_tid_address;
	child->parent_serial = t->ring ? t->ring->serial : 0;
	child->sync_blocked = t->sync_blocked;
	child->tsc_forbidden = t->tsc_forbidden;
	child->own_process = !(flags & CLONE_THREAD);
	child->unwanted = t->unwanted || (child->own_process && !children_wanted());
	child->clear_handlers = !!(flags & CLONE_CLEAR_SIGHAND);
	sigaction_inherit(child, t, !!(flags & CLONE_SIGHAND));
	if (!(flags & CLONE_THREAD))
		memcpy(child->app_altstack, t->app_altstack, sizeof(t->app_altstack));
	child->blocked_mask = old;
	ring_reserve_end(t);
	safepoint_enter(t);
	ret = thread_clone(nr, a, child);
	safepoint_leave(t);
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
		/*
		 * With CLONE_SIGHAND the kernel must refuse CLONE_CLEAR_SIGHAND.  Without it, the
		 * engine resets the application's handlers and keeps its own.
		 */
		if (!(flags & CLONE_SIGHAND))
			c.flags &= ~CLONE_CLEAR_SIGHAND;
		c.stack = c.stack_size = 0;
		a[0] = (u64)&c;
		break;
	}
	if (flags & CLONE_NEWPID)
		boot.ns |= ADEPT_NS_CHILDREN;
	t->child_tid_address = flags & CLONE_CHILD_CLEARTID ? child_tid : 0;
	ret = flags & CLONE_VM ? clone_thread(t, nr, a, flags, stack, tls) :
				 fork_process(t, nr, a, flags, stack, tls);
	if (ret)
		LOG(ADEPT_LOG_THREAD, "clone with flags %lx returned %ld", flags, ret);
	if (ret > 0) {
		ev = (struct adept_ev_fork){
			(u32)ret, (u32)flags, t->before, t->child_tid_address,
		};
		ring_event(t, ADEPT_EV_FORK, &ev, sizeof(ev));
	}
	return ret;
}
