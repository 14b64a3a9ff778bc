// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * execve.  Before the call, the thread sends a request to the collector.  The collector then traces
 * the thread through the call and injects the engine into the new image.
 */
#include "exec.h"
#include "libdep/engine/base/rlimit.h"
#include "sigmask.h"
#include "syscall.h"
#include "libdep/engine/record/process_slots.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"

#define AT_FDCWD	(-100)
#define AT_EMPTY_PATH	0x1000
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_EACCESS	0x200
#define X_OK		1
#define KCMP_VM		1

static struct lock exec_lock, slot_lock;
static u32 exec_owner;
static struct adept_proc *slot;	/* process slot with the execve request; NULL: none yet */
static u32 serial;		/* serial of the process in the slot */

/*
 * Whether the process slot was freed: this thread is in a child that shares the memory of its
 * parent and has outlived the parent.
 */
static int slot_lost(const struct adept_proc *p)
{
	return __atomic_load_n(&p->serial, __ATOMIC_RELAXED) != serial;
}

static void answer_wait(struct adept_proc *p, u32 state)
{
	static const s64 second[2] = { 1, 0 };

	while (__atomic_load_n(&p->exec_state, __ATOMIC_ACQUIRE) == state && !slot_lost(p) &&
	       !collector_gone())
		sys4(__NR_futex, (u64)&p->exec_state, SYS_FUTEX_WAIT, state, (u64)second);
}

static void tell(struct adept_proc *p, u32 state)
{
	struct adept_session *s = session();

	__atomic_store_n(&p->exec_state, state, __ATOMIC_RELEASE);
	__atomic_add_fetch(&s->wakeup, 1, __ATOMIC_SEQ_CST);
	futex_wake(&s->wakeup, 1);
}

/* Publish the arguments of execve and request the collector to decide whether to follow it. */
static void announce(struct adept_proc *p, u64 nr, const u64 args[6])
{
	int at = nr == __NR_execveat;

	p->exec_path = args[at];
	p->exec_dirfd = at ? (s32)args[0] : AT_FDCWD;
	p->exec_flags = at ? (u32)args[4] : 0;
	p->exec_tid = exec_owner = (u32)sys0(__NR_gettid);
	/*
	 * The caller may be a vfork child in the pid namespace that this process has set for its
	 * children, so that exec_tid is a number of that namespace.
	 */
	if (boot.ns & ADEPT_NS_CHILDREN)
		__atomic_fetch_or(&p->ns, ADEPT_NS_TIDS, __ATOMIC_RELAXED);
	tell(p, ADEPT_EXEC_REQUEST);
}

static void release(struct adept_proc *p)
{
	__atomic_store_n(&exec_owner, 0, __ATOMIC_RELAXED);
	if (!slot_lost(p))
		__atomic_store_n(&p->exec_state, ADEPT_EXEC_NONE, __ATOMIC_RELEASE);
	unlock(&exec_lock);
}

/* Thread @tid has ended or runs another image: release exec_lock if the thread held it. */
static void owner_gone(struct adept_proc *p, u32 tid)
{
	if (!__atomic_compare_exchange_n(&exec_owner, &tid, 0, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	/*
	 * The thread may have been killed before the collector answered.  Wait for this answer, so
	 * that it is not mistaken for the answer to the next request.
	 */
	answer_wait(p, ADEPT_EXEC_REQUEST);
	answer_wait(p, ADEPT_EXEC_FAILED);
	release(p);
}

/*
 * Take exec_lock, because the slot has room for one request only.  While waiting, poll whether the
 * lock's owner still runs in this memory.  The owner can be a clone child that shares the memory
 * but is not a vfork child.  If this child's execve succeeds, no thread releases the lock.
 */
static void take_turn(struct adept_proc *p)
{
	static const s64 tick[2] = { 0, 20000000 };
	u32 zero = 0, owner;
	s64 ret;

	if (__atomic_compare_exchange_n(&exec_lock.word, &zero, 1, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&exec_lock.word, 2, __ATOMIC_ACQUIRE)) {
		sys4(__NR_futex, (u64)&exec_lock.word, SYS_FUTEX_WAIT, 2, (u64)tick);
		owner = __atomic_load_n(&exec_owner, __ATOMIC_ACQUIRE);
		if (!owner)
			continue;
		ret = sys6(__NR_kcmp, (u64)sys0(__NR_gettid), owner, KCMP_VM, 0, 0, 0);
		if (ret > 0 || ret == -E_SRCH)
			owner_gone(p, owner);
	}
}

/*
 * Get the slot for the execve request: the process's slot, or a slot claimed only for execve; NULL
 * if there is none.
 */
static struct adept_proc *slot_for_exec(void)
{
	struct adept_proc *p = __atomic_load_n(&slot, __ATOMIC_ACQUIRE);

	/* An isolated process that had no slot has unmapped all slots (record/isolate.c). */
	if (boot.domain == ADEPT_NO_DOMAIN)
		return NULL;
	if (p)
		return p;
	lock(&slot_lock);
	if (!slot) {
		p = process_exec_slot();
		serial = p ? p->serial : 0;
		__atomic_store_n(&slot, p, __ATOMIC_RELEASE);
	}
	unlock(&slot_lock);
	return slot;
}

/* Whether execve finds an executable file; 1 also if faccessat2 is not available. */
static int may_succeed(u64 nr, const u64 args[6])
{
	int at = nr == __NR_execveat;
	u32 flags = at ? (u32)args[4] & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) : 0;
	s64 ret = sys4(__NR_faccessat2, at ? args[0] : (u64)AT_FDCWD, args[at], X_OK,
		       AT_EACCESS | flags);

	return !ret || ret == -E_NOSYS || ret == -E_PERM;
}

static s64 execute(struct tls *t, u64 nr, const u64 args[6])
{
	u32 lowered = rlimit_exec_begin(rlimit_is_finite() && may_succeed(nr, args));
	s64 ret;

	sigmask_exec_begin(t);
	ret = app_last_syscall(t, nr, args, 0);
	sigmask_exec_failed(t);
	rlimit_exec_failed(lowered);
	return ret;
}

/*
 * Call execve without a slot: the collector cannot be asked to follow, so the new image runs
 * natively.
 */
static s64 exec_natively(struct tls *t, u64 nr, const u64 args[6])
{
	s64 ret;

	adept_native_add(session(), process_without_slot());
	ret = execute(t, nr, args);
	adept_native_sub(session(), process_without_slot());
	return ret;
}

s64 exec_syscall(struct tls *t, u64 nr, u64 args[6])
{
	struct adept_proc *p;
	s64 ret;
	u32 state;

	if (t->unwanted)
		return execute(t, nr, args);
	ring_reserve_end(t);
	safepoint_enter(t);
	p = slot_for_exec();
	if (!p || slot_lost(p)) {
		safepoint_leave(t);
		return exec_natively(t, nr, args);
	}
	process_slot_wait();
	take_turn(p);
	announce(p, nr, args);
	answer_wait(p, ADEPT_EXEC_REQUEST);
	safepoint_leave(t);
	LOG(ADEPT_LOG_EXEC, "execve: the collector %s",
	    p->exec_state == ADEPT_EXEC_READY ? "will follow it into the new image" :
	    "will not follow it: the new image runs natively");
	ret = execute(t, nr, args);
	if (ret != SYS_ABORTED)
		LOG(ADEPT_LOG_EXEC, "execve failed with error %ld", ret);
	state = __atomic_load_n(&p->exec_state, __ATOMIC_ACQUIRE);
	/*
	 * Report the failure after ADEPT_EXEC_NATIVE, too: the collector has counted the new image
	 * as native and must undo this.
	 */
	if (!slot_lost(p) && (state == ADEPT_EXEC_READY || state == ADEPT_EXEC_NATIVE)) {
		tell(p, ADEPT_EXEC_FAILED);
		answer_wait(p, ADEPT_EXEC_FAILED);
	}
	release(p);
	return ret;
}

void exec_vfork_done(u32 tid)
{
	if (tid && slot && boot.domain != ADEPT_NO_DOMAIN)
		owner_gone(slot, tid);
}

void exec_process_init(void)
{
	slot = has_slot() ? proc_slot() : NULL;
	serial = slot ? slot->serial : 0;
	slot_lock.word = 0;
	exec_owner = 0;
	exec_lock.word = 0;
}
