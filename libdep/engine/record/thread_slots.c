// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Thread slots of the session file: allocation to the threads of this process.
 */
#include <linux/prctl.h>

#include "isolate.h"
#include "record.h"
#include "thread_slots.h"

/* Serialises changes of t->ring with isolate(), which unmaps the slots of other processes. */
static struct lock slots_lock;

void slots_hold(int hold)
{
	if (hold)
		lock(&slots_lock);
	else
		unlock(&slots_lock);
}

/* Number of thread slots that this process may claim. */
static u32 how_many(void)
{
	const u32 *own;

	return boot.domain ? isolate_threads(&own) : layout()->nthreads;
}

static u32 nth_slot(u32 i)
{
	const u32 *own;

	return boot.domain && isolate_threads(&own) > i ? own[i] : i;
}

/*
 * Whether slot @k is reserved for another domain.  Only the table of reserved slots shows this:
 * processes of that domain can write any state to the slot.
 */
static int is_others(u32 k)
{
	return !boot.domain &&
	       __atomic_load_n(&adept_retired_thread((void *)boot.session, layout(), k)->domain,
			       __ATOMIC_SEQ_CST);
}

static int claim(u32 k)
{
	struct adept_thread *v = thread_slots();
	u32 free = ADEPT_SLOT_FREE;

	if (is_others(k) ||
	    !__atomic_compare_exchange_n(&v[k].state, &free, ADEPT_SLOT_CLAIMED, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	/* A process that isolates itself may meanwhile have reserved the slot for its domain. */
	if (is_others(k)) {
		__atomic_store_n(&v[k].state, ADEPT_SLOT_FREE, __ATOMIC_SEQ_CST);
		return 0;
	}
	return 1;
}

int slots_claim(void)
{
	static u32 hint;

	for (u32 i = 0, n = how_many(); i < n; i++) {
		u32 at = (hint + i) % n, k = nth_slot(at);

		if (claim(k)) {
			hint = at;
			return (int)k;
		}
	}
	return -1;
}

/*
 * Claim a free slot for @t.  slots_lock is held, so that isolate() finds the slot in t->ring or
 * free.
 */
static int take_free(struct tls *t)
{
	int slot = slots_claim();
	u32 serial;

	if (slot < 0)
		return 0;
	serial = __atomic_fetch_add(&session()->next_serial, 1, __ATOMIC_RELAXED);
	if (!isolate_may_use_serial(serial)) {
		__atomic_store_n(&thread_slots()[slot].state, ADEPT_SLOT_FREE, __ATOMIC_RELEASE);
		return 0;
	}
	t->slot = (u32)slot;
	t->ring = thread_slots() + slot;
	t->ring->serial = serial;
	return 1;
}

static int any_ended(void)
{
	const struct adept_thread *v = thread_slots();

	for (u32 i = 0; i < how_many(); i++)
		if (__atomic_load_n(&v[nth_slot(i)].state, __ATOMIC_RELAXED) == ADEPT_SLOT_ENDED)
			return 1;
	return 0;
}

/*
 * Get a slot for thread @t.
 *
 * The slot of an ended thread becomes free when the collector has read its ring.  The slots are
 * searched for ended threads only if no slot is free, because the slots are many pages.
 */
int slots_take(struct tls *t)
{
	static const s64 millisecond[2] = { 0, 1000000 };
	int ended = 0, got;

	for (;;) {
		slots_hold(1);
		got = take_free(t);
		if (!got) {
			ended = any_ended();
			got = take_free(t);
		}
		slots_hold(0);
		if (got || !ended || layout()->flags & ADEPT_S_DROP || collector_gone())
			return got;
		__atomic_add_fetch(&session()->wakeup, 1, __ATOMIC_SEQ_CST);
		futex_wake(&session()->wakeup, 1);
		futex_wait(&(u32){ 0 }, 0, millisecond);
	}
}

/* Copy the name from the kernel: another thread, fork or execve may have set it. */
void slots_name(struct tls *t)
{
	if (t->ring)
		sys6(__NR_prctl, PR_GET_NAME, (u64)t->ring->name, 0, 0, 0, 0);
}

/*
 * t->ring and the slot's state change under the lock.  Otherwise isolate() might keep a slot that
 * another process has already claimed, or unmap a slot before its state is written.
 */
void slots_leave(struct tls *t, u32 state)
{
	struct adept_thread *r;

	slots_hold(1);
	r = t->ring;
	t->ring = NULL;
	__atomic_store_n(&r->state, state, __ATOMIC_RELEASE);
	slots_hold(0);
}
