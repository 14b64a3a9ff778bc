// SPDX-License-Identifier: LGPL-2.1-or-later
#include "safepoint.h"
#include "record.h"

int stop_requested(const struct tls *t)
{
	u32 stop = __atomic_load_n(&t->group->stop, __ATOMIC_SEQ_CST);

	return stop && stop != t->tid;
}

/*
 * A vfork child is another process, which uses its parent's slot.  After a tracer has given up, its
 * changes of the thread must be undone.
 */
int leave_requested(const struct tls *t)
{
	return has_slot() && !t->own_process &&
	       (__atomic_load_n(&proc_slot()->leave, __ATOMIC_SEQ_CST) != ADEPT_LEAVE_NONE ||
		t->kept.blocked);
}

static void wait_for_release(struct tls *t)
{
	u32 stop;

	while ((stop = __atomic_load_n(&t->group->stop, __ATOMIC_SEQ_CST)) && stop != t->tid)
		futex_wait(&t->group->stop, stop, NULL);
}

void safepoint_enter(struct tls *t)
{
	if (t->ring)
		__atomic_store_n(&t->ring->at_safepoint, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&t->stop_state, STOP_SAFEPOINT, __ATOMIC_SEQ_CST);
	wait_for_release(t);
}

void safepoint_leave(struct tls *t)
{
	u32 rests;

	do {
		wait_for_release(t);
		rests = STOP_SAFEPOINT;
	} while (!__atomic_compare_exchange_n(&t->stop_state, &rests, STOP_RUNNING, 0,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (t->ring)
		__atomic_store_n(&t->ring->at_safepoint, 0, __ATOMIC_RELEASE);
	if (unlikely(leave_requested(t)))
		t->pending |= PENDING_STOP;
}

void safepoint_poll(struct tls *t)
{
	if (likely(!stop_requested(t)))
		return;
	ring_reserve_end(t);
	safepoint_enter(t);
	safepoint_leave(t);
}
