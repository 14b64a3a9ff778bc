// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Process slots in the session file.  A forked process claims a slot.  If there is none, the
 * process runs unrecorded.
 */
#include "process_slots.h"
#include "isolate.h"
#include "record.h"

/* Pauses while a process waits for a slot: 1, 2, 4 .. 64 ms. */
#define SLOT_PAUSE_MIN_NS	1000000
#define SLOT_PAUSE_MAX_NS	128000000

/*
 * own_pid: pid of this forked process (a vfork child in its memory has another pid); own_parent:
 * serial of its parent.
 */
static u32 own_pid, own_parent;

/* Number of slots that this process may claim; a domain may have only its founder's slot. */
static u32 how_many(void)
{
	const u32 *own;

	return boot.domain ? isolate_procs(&own) : layout()->nprocs;
}

static u32 nth_slot(u32 i)
{
	const u32 *own;

	if (boot.domain)
		return isolate_procs(&own) > i ? own[i] : 0;
	return (boot.proc + i) % layout()->nprocs;
}

static int may_create(void)
{
	return how_many() > 1;
}

/*
 * Claim process slot @k.  In a domain, the table of reserved slots need not be checked: @k is
 * reserved for the domain.
 */
static int claim(u32 k)
{
	struct adept_proc *p = proc_slots() + k;
	u32 free = ADEPT_SLOT_FREE;

	if (!boot.domain)
		return adept_claim_proc(session(), layout(), p, k, 0);
	return __atomic_compare_exchange_n(&p->state, &free, ADEPT_SLOT_CLAIMED, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

u32 process_slot_claim(void)
{
	struct adept_proc *v = proc_slots();

	for (u32 i = 0, n = how_many(); i < n; i++) {
		u32 k = nth_slot(i);

		/*
		 * Read the state before claiming: many processes may poll a full table, and a
		 * compare-and-exchange would take the cache line for writing each time.
		 */
		if (__atomic_load_n(&v[k].state, __ATOMIC_RELAXED) == ADEPT_SLOT_FREE && claim(k))
			return k;
	}
	return NO_SLOT;
}

static void ring_wake(void)
{
	struct adept_session *s = session();

	__atomic_add_fetch(&s->wakeup, 1, __ATOMIC_SEQ_CST);
	futex_wake(&s->wakeup, 1);
}

static int any_in_state(u32 state)
{
	const struct adept_proc *v = proc_slots();

	for (u32 i = 0, n = how_many(); i < n; i++)
		if (__atomic_load_n(&v[nth_slot(i)].state, __ATOMIC_RELAXED) == state)
			return 1;
	return 0;
}

/*
 * Pause while the table of process slots is full.
 *
 * A process may have ended without the collector having noticed it yet: the pauses for this add up
 * to about 0.1 s.  A slot in state ENDED will become free: wait for it without a limit, as
 * slots_take() does for thread slots.
 *
 * Return: 0: give up.
 */
static int pause_for_slot(s64 pause[2])
{
	if (collector_gone() || !may_create())
		return 0;
	if (pause[1] >= SLOT_PAUSE_MAX_NS) {
		if (layout()->flags & ADEPT_S_DROP || !any_in_state(ADEPT_SLOT_ENDED))
			return 0;
		pause[1] /= 2;
	}
	ring_wake();
	sys2(__NR_nanosleep, (u64)pause, 0);
	pause[1] *= 2;
	return 1;
}

static u32 wait_for_process_slot(void)
{
	s64 pause[2] = { 0, SLOT_PAUSE_MIN_NS };
	u32 k = process_slot_claim();

	while (k == NO_SLOT && pause_for_slot(pause))
		k = process_slot_claim();
	return k;
}

void process_slot_wait(void)
{
	s64 pause[2] = { 0, SLOT_PAUSE_MIN_NS };

	while (!any_in_state(ADEPT_SLOT_FREE) && pause_for_slot(pause))
		;
}

enum adept_native process_without_slot(void)
{
	return may_create() ? ADEPT_NATIVE_LOST : ADEPT_NATIVE_PRIVILEGED;
}

static void fill_process_slot(struct adept_proc *p, u32 cause, u32 parent)
{
	struct adept_session *s = session();

	p->serial = __atomic_fetch_add(&s->next_serial, 1, __ATOMIC_RELAXED);
	p->pid = own_pid;
	p->parent_serial = parent;
	p->exec_state = ADEPT_EXEC_NONE;
	p->leave = ADEPT_LEAVE_NONE;
	p->leavers = p->leave_tracer = 0;
	p->cause = cause;
	p->ns = boot.ns & (ADEPT_NS_TIDS | ADEPT_NS_PID);
	p->self = (u64)&boot;
	p->start_ns = rt_now();
	p->desc_head = p->desc_tail = 0;
	record_forget_descriptors();
}

/*
 * Claim a slot for this new process.
 *
 * Without a slot, the process stays in the engine but runs unrecorded: its threads have no rings,
 * its fragments no descriptors.  Children that it forks run unrecorded, too, because the code cache
 * that they inherit cannot be described any more.  If it executes a new image, this image is
 * recorded if a slot is free then.
 */
void process_slot_take(u32 cause, u32 parent)
{
	u32 k = has_slot() ? wait_for_process_slot() : NO_SLOT;
	const struct adept_session *l = layout();
	struct adept_proc *p;

	own_pid = (u32)sys0(__NR_getpid);
	own_parent = parent;
	if (k == NO_SLOT) {
		boot.proc = NO_SLOT;
		adept_native_add(session(), process_without_slot());
		return;
	}
	p = proc_slots() + k;
	fill_process_slot(p, cause, parent);
	boot.proc = k;
	sys3(__NR_mprotect, boot.session + l->desc_off + (u64)k * l->desc_size, l->desc_size,
	     K_PROT_READ | K_PROT_WRITE);
	__atomic_store_n(&p->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	ring_wake();
}

struct adept_proc *process_exec_slot(void)
{
	u32 k = wait_for_process_slot();
	struct adept_proc *p = proc_slots() + k;

	if (k == NO_SLOT)
		return NULL;
	fill_process_slot(p, ADEPT_BY_FORK, own_parent);
	adept_native_sub(session(), process_without_slot());
	__atomic_store_n(&p->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	ring_wake();
	return p;
}
