// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Stop-the-world.
 *
 * A thread that is at a safe point is stopped there: a thread in a system call stays in the call,
 * and waits when the call returns.  Other threads get a SIGTRAP from the engine, which the kernel
 * never blocks.  A thread in the code cache leaves it as for any signal; a thread in the engine's
 * code finds the request before it enters the cache.  Then the thread waits.
 *
 * The request is made before the states of threads are read.  A thread checks for a request after
 * it has declared itself at a safe point and before it makes a system call.  So no system call is
 * interrupted for this, and the application cannot notice that a thread was stopped and resumed.
 */
#include "stop_world.h"
#include "sigframe.h"
#include "libdep/engine/base/thread_list.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"

#define STOP_TIMEOUT_NS	1000000000ull
#define PAUSE_MIN_NS	50000
#define PAUSE_MAX_NS	2000000

#define KICK_CODE	(-1)	/* si_code of the engine's SIGTRAP: SI_QUEUE */

int is_stop_signal(const struct tls *t, u32 signo, const struct k_siginfo *info)
{
	return signo == K_SIGTRAP && info->code == KICK_CODE &&
	       (info->rest[0] == (u64)t->group || info->rest[0] == (u64)&boot);
}

static s64 kick(const struct tls *t)
{
	struct k_siginfo info = { .signo = K_SIGTRAP, .code = KICK_CODE };

	info.rest[0] = (u64)t->group;
	return sys4(__NR_rt_tgsigqueueinfo, (u64)sys0(__NR_getpid), t->tid, K_SIGTRAP, (u64)&info);
}

/* Stop @t if it is at a safe point, otherwise send it SIGTRAP.  Return: 1 if @t still runs. */
static u32 hold(struct tls *t, u32 status)
{
	u32 rests = STOP_SAFEPOINT;

	if (__atomic_load_n(&t->stop_state, __ATOMIC_SEQ_CST) == STOP_STOPPED)
		return 0;
	if (__atomic_compare_exchange_n(&t->stop_state, &rests, STOP_STOPPED, 0, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED)) {
		ring_put_thread_end(t, status);
		return 0;
	}
	/* @t is unrecorded or its stream has ended: do not wait for it. */
	if (!t->ring && t->discard)
		return 0;
	return kick(t) != -E_SRCH;
}

static u32 release(struct tls *t, u32 unused)
{
	(void)unused;
	if (t->stop_state == STOP_STOPPED) {
		ring_remove_thread_end(t);
		__atomic_store_n(&t->stop_state, STOP_SAFEPOINT, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static void take_stop(struct tls *t)
{
	u32 none = 0;

	while (!__atomic_compare_exchange_n(&t->group->stop, &none, t->tid, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED)) {
		safepoint_poll(t);
		none = 0;
	}
}

void stop_world(struct tls *t, u32 status)
{
	s64 pause[2] = { 0, PAUSE_MIN_NS };
	u32 left = ~0u, n;
	u64 until = 0;

	if (!recording() || layout()->flags & ADEPT_S_NULL)
		return;
	take_stop(t);
	while ((n = thread_each_other(t, hold, status))) {
		if (n < left)
			until = rt_now() + STOP_TIMEOUT_NS;
		else if (rt_now() > until)
			return;
		left = n < left ? n : left;
		sys2(__NR_nanosleep, (u64)pause, 0);
		if (pause[1] < PAUSE_MAX_NS)
			pause[1] *= 2;
	}
}

void resume_world(struct tls *t)
{
	struct group *g = t->group;

	if (g->stop != t->tid)
		return;
	thread_each_other(t, release, 0);
	__atomic_store_n(&g->stop, 0, __ATOMIC_SEQ_CST);
	futex_wake(&g->stop, 0x7fffffff);
}
