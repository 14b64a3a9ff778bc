// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * execve: the collector is told first, so that it can trace this thread through the
 * call and put the engine into the new image.
 */
#include "exec.h"
#include "syscall.h"
#include "../record/record.h"

static struct lock exec_lock;
static u32 exec_owner;

static void answer_wait(struct adept_proc *p, u32 state)
{
	static const s64 second[2] = { 1, 0 };

	while (__atomic_load_n(&p->exec_state, __ATOMIC_ACQUIRE) == state && !collector_gone())
		sys4(__NR_futex, (u64)&p->exec_state, SYS_FUTEX_WAIT, state, (u64)second);
}

static void tell(struct adept_proc *p, u32 state)
{
	struct adept_session *s = session();

	__atomic_store_n(&p->exec_state, state, __ATOMIC_RELEASE);
	__atomic_add_fetch(&s->doorbell, 1, __ATOMIC_SEQ_CST);
	futex_wake(&s->doorbell, 1);
}

static void release(struct adept_proc *p)
{
	exec_owner = 0;
	__atomic_store_n(&p->exec_state, ADEPT_EXEC_NONE, __ATOMIC_RELEASE);
	unlock(&exec_lock);
}

s64 exec_syscall(struct tls *t, u64 nr, u64 args[6])
{
	struct adept_session *s = session();
	struct adept_proc *p = proc_slot();
	s64 ret;

	if (s->flags & ADEPT_S_NO_FOLLOW)
		return app_syscall(t, nr, args);
	/* One at a time: the slot has room for one request. */
	lock(&exec_lock);
	p->exec_tid = exec_owner = (u32)sys0(__NR_gettid);
	tell(p, ADEPT_EXEC_REQUEST);
	answer_wait(p, ADEPT_EXEC_REQUEST);
	ret = app_syscall(t, nr, args);
	if (__atomic_load_n(&p->exec_state, __ATOMIC_ACQUIRE) == ADEPT_EXEC_READY) {
		tell(p, ADEPT_EXEC_FAILED);
		answer_wait(p, ADEPT_EXEC_FAILED);
	}
	release(p);
	return ret;
}

void exec_vfork_done(u32 tid)
{
	if (tid && __atomic_load_n(&exec_owner, __ATOMIC_ACQUIRE) == tid)
		release(proc_slot());
}
