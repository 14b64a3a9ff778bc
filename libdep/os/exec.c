// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * execve: the collector is told first, so that it can trace this thread through the
 * call and put the engine into the new image.
 */
#include "exec.h"
#include "syscall.h"
#include "../record/record.h"

#define AT_FDCWD	(-100)

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

/* What execve is about to get: the collector looks whether it could be followed. */
static void announce(struct adept_proc *p, u64 nr, const u64 args[6])
{
	int at = nr == __NR_execveat;

	p->exec_path = args[at];
	p->exec_dirfd = at ? (s32)args[0] : AT_FDCWD;
	p->exec_flags = at ? (u32)args[4] : 0;
	p->exec_tid = exec_owner = (u32)sys0(__NR_gettid);
	tell(p, ADEPT_EXEC_REQUEST);
}

static void release(struct adept_proc *p)
{
	exec_owner = 0;
	__atomic_store_n(&p->exec_state, ADEPT_EXEC_NONE, __ATOMIC_RELEASE);
	unlock(&exec_lock);
}

s64 exec_syscall(struct tls *t, u64 nr, u64 args[6])
{
	struct adept_proc *p = proc_slot();
	s64 ret;
	u32 state;

	/* One at a time: the slot has room for one request. */
	lock(&exec_lock);
	announce(p, nr, args);
	answer_wait(p, ADEPT_EXEC_REQUEST);
	ret = app_syscall(t, nr, args);
	state = __atomic_load_n(&p->exec_state, __ATOMIC_ACQUIRE);
	/* Who was told to go natively says so as well: the image is watched for, and counted. */
	if (state == ADEPT_EXEC_READY || state == ADEPT_EXEC_NATIVE) {
		tell(p, ADEPT_EXEC_FAILED);
		answer_wait(p, ADEPT_EXEC_FAILED);
	}
	release(p);
	return ret;
}

void exec_vfork_done(u32 tid)
{
	struct adept_proc *p = proc_slot();

	if (!tid || __atomic_load_n(&exec_owner, __ATOMIC_ACQUIRE) != tid)
		return;
	/* Killed before it was answered: that answer must not meet the next request. */
	answer_wait(p, ADEPT_EXEC_REQUEST);
	answer_wait(p, ADEPT_EXEC_FAILED);
	release(p);
}

void exec_forget(void)
{
	exec_owner = 0;
	exec_lock.word = 0;
}
