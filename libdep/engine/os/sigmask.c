// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sigmask.h"
#include "syscall.h"
#include "libdep/engine/base/runtime.h"

enum how { HOW_BLOCK, HOW_UNBLOCK, HOW_SETMASK };

/* rt_tgsigqueueinfo to this thread: the signal arrives at sigmask_sent, if it is not blocked. */
void sigmask_send(s64 pid, u32 tid, u32 signo, const void *info);

static const u8 sync_signal[ADEPT_SYNC_SIGNALS] = {
	K_SIGILL, K_SIGTRAP, K_SIGBUS, K_SIGFPE, K_SIGSEGV,
};

const u64 *sigmask_filter(const u64 *set, u64 *copy)
{
	if (!set || rt_copy_in(copy, set, 8) != 8)
		return set;
	*copy &= ~SYNC_SIGNALS;
	return copy;
}

/* Add @bits to the signal set that a system call has stored at @to. */
static void add_bits(u64 to, u64 bits)
{
	u64 set;

	if (bits && rt_copy_in(&set, (void *)to, 8) == 8) {
		set |= bits;
		rt_copy_in((void *)to, &set, 8);
	}
}

s64 sigmask_procmask(struct tls *t, u64 a[6])
{
	u64 how = a[0], new, filtered, was = t->sync_blocked;
	int changes = a[1] && rt_copy_in(&new, (void *)a[1], 8) == 8;
	s64 ret;

	a[1] = (u64)sigmask_filter((u64 *)a[1], &filtered);
	ret = app_syscall(t, __NR_rt_sigprocmask, a);
	if (ret)
		return ret;
	if (a[2])
		add_bits(a[2], was);
	if (!changes)
		return 0;
	new &= SYNC_SIGNALS;
	t->sync_blocked = how == HOW_BLOCK ? was | new : how == HOW_UNBLOCK ? was & ~new : new;
	sigmask_release(t);
	return 0;
}

s64 sigmask_pending(struct tls *t, const u64 a[6])
{
	s64 ret = app_syscall(t, __NR_rt_sigpending, a);

	if (!ret && a[1] == 8)
		add_bits(a[0], t->held & t->sync_blocked);
	return ret;
}

int sigmask_must_hold(const struct tls *t, u32 signo, int busy)
{
	return SIGBIT(signo) & SYNC_SIGNALS &&
	       (t->sync_blocked & SIGBIT(signo) || t->pending & PENDING_SIGNAL || busy);
}

void sigmask_hold(struct tls *t, u32 signo, const struct k_siginfo *info)
{
	t->pending |= PENDING_HELD;
	if (t->held & SIGBIT(signo))
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(sync_signal); i++)
		if (sync_signal[i] == signo)
			memcpy(t->held_info[i], info, sizeof(*info));
	t->held |= SIGBIT(signo);
}

/* Send a held-back signal once more to this thread. */
static void send_again(struct tls *t, unsigned int i)
{
	t->held &= ~SIGBIT(sync_signal[i]);
	sigmask_send(sys0(__NR_getpid), t->tid, sync_signal[i], t->held_info[i]);
}

void sigmask_release(struct tls *t)
{
	t->pending &= ~(u64)PENDING_HELD;
	for (unsigned int i = 0; i < ARRAY_SIZE(sync_signal); i++)
		if (t->held & SIGBIT(sync_signal[i]) && !sigmask_must_hold(t, sync_signal[i], 0))
			send_again(t, i);
}

void sigmask_release_all(struct tls *t)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(sync_signal); i++)
		if (t->held & SIGBIT(sync_signal[i]))
			send_again(t, i);
}

void sigmask_exec_begin(struct tls *t)
{
	if (!t->sync_blocked)
		return;
	sys4(__NR_rt_sigprocmask, HOW_BLOCK, (u64)&t->sync_blocked, 0, 8);
	for (unsigned int i = 0; i < ARRAY_SIZE(sync_signal); i++)
		if (t->held & t->sync_blocked & SIGBIT(sync_signal[i]))
			send_again(t, i);
}

void sigmask_exec_failed(struct tls *t)
{
	/* Pending signals arrive during this call and are held back again. */
	if (t->sync_blocked)
		sys4(__NR_rt_sigprocmask, HOW_UNBLOCK, (u64)&t->sync_blocked, 0, 8);
}
