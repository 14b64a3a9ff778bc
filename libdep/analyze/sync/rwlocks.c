// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Read-write locks, whose readers are not ordered by them though they change the same word;
 * and objects that are made and destroyed while others use them.
 *
 * The latter are kept in memory of their own, ORDER_OBJECTS away from that of the program:
 * who makes or destroys an object writes to it there, who uses it reads.
 */
#include <stdlib.h>

#include "hooked_functions.h"

/* What a function does to the object that its first argument is. */
static bool makes(u32 f)
{
	return f == DEP_F_MUTEX_INIT || f == DEP_F_RWLOCK_INIT || f == DEP_F_COND_INIT ||
	       f == DEP_F_BARRIER_INIT || f == DEP_F_SPIN_INIT || f == DEP_F_SEM_INIT;
}

static bool destroys(u32 f)
{
	return f == DEP_F_MUTEX_DESTROY || f == DEP_F_RWLOCK_DESTROY || f == DEP_F_COND_DESTROY ||
	       f == DEP_F_BARRIER_DESTROY || f == DEP_F_SPIN_DESTROY || f == DEP_F_SEM_DESTROY;
}

static bool reads(u32 f)
{
	return f >= DEP_F_RWLOCK_RDLOCK && f <= DEP_F_RWLOCK_CLOCKRDLOCK;
}

static bool writes(u32 f)
{
	return f >= DEP_F_RWLOCK_WRLOCK && f <= DEP_F_RWLOCK_CLOCKWRLOCK;
}

/* Is it held for reading, and if so not any more? */
static bool was_read(struct order_thread *t, u64 lock)
{
	struct order_calls *c = &t->calls;
	u32 i = 0;

	while (i < c->nread && c->read[i] != lock)
		i++;
	if (i == c->nread)
		return false;
	c->read[i] = c->read[--c->nread];
	return true;
}

/* ---- conditions that are destroyed while somebody waits ---- */

static int begin_wait(struct order_thread *t, const struct order_frame *f, u64 object)
{
	struct order_process *p = t->process;
	u32 room = p->waiters_room ? 2 * p->waiters_room : 16;
	struct order_thread **more;

	order_wait_over(t);
	if (p->nwaiters == p->waiters_room) {
		more = realloc(p->waiter, room * sizeof(struct order_thread *));
		if (!more)
			return order_no_memory();
		p->waiter = more;
		p->waiters_room = room;
	}
	p->waiter[p->nwaiters++] = t;
	t->wait.object = object;
	t->wait.mutex = f->known & 2 ? order_at(t, f->arg[1]) : 0;
	t->wait.pc = f->pc;
	t->wait.epoch = race_epoch(p->detector, t->index);
	return 0;
}

void order_wait_over(struct order_thread *t)
{
	struct order_process *p = t->process;
	u32 i;

	for (i = 0; i < p->nwaiters && t->wait.object; i++) {
		if (p->waiter[i] != t)
			continue;
		p->waiter[i] = p->waiter[--p->nwaiters];
		break;
	}
	t->wait.object = t->wait.mutex = 0;
}

/*
 * A thread that is cancelled runs its cleanup handlers on top of what it was in, and one that
 * leaves a handler by a jump is in there for ever: but who leaves the mutex waits no more.  (A C
 * library that does so by the same function to wait has no waiters, then.)
 */
static void leave_wait(struct order_thread *t, u64 mutex)
{
	if (t->wait.mutex == mutex)
		order_wait_over(t);
}

/* Which one is woken is not known; who is may still be in there while it is destroyed. */
static void wake(const struct order_process *p, u64 object)
{
	u32 i;

	for (i = p->nwaiters; i--;)
		if (p->waiter[i]->wait.object == object)
			order_wait_over(p->waiter[i]);
}

/* However that is ordered: nobody has woken them. */
static void destroy(struct order_thread *t, u64 object, u64 pc)
{
	struct order_process *p = t->process;
	struct race_found found = {
		.current = {
			.thread = t->index, .flags = RACE_WRITE | ORDER_OBJECT,
			.epoch = race_epoch(p->detector, t->index), .pc = pc,
		},
		.address = object | ORDER_OBJECTS, .size = 1,
	};
	u32 i;

	for (i = 0; i < p->nwaiters; i++) {
		const struct order_thread *o = p->waiter[i];

		if (o->wait.object != object)
			continue;
		if (t->feed->pass == ORDER_FIRST)
			dep_places_add(&p->scope->raced, found.address, found.size);
		found.prior = (struct race_access){
			.thread = o->index, .flags = RACE_READ | ORDER_OBJECT,
			.epoch = o->wait.epoch, .pc = o->wait.pc,
		};
		race_rows_report(p->rows, &found);
	}
}

/* ---- all of them ---- */

static int about_condition(struct order_thread *t, const struct order_frame *f, u64 object)
{
	if (order_waits(f->function))
		return begin_wait(t, f, object);
	if (f->function == DEP_F_COND_SIGNAL || f->function == DEP_F_COND_BROADCAST)
		wake(t->process, object);
	else if (f->function == DEP_F_COND_DESTROY)
		destroy(t, object, f->pc);
	return 0;
}

int order_lock_enter(struct order_thread *t, const struct order_frame *f)
{
	u64 object = order_at(t, f->arg[0]);
	int err;

	if (!(f->known & 1) || f->function >= DEP_F_THREAD_CREATE)
		return 0;
	if (f->function == DEP_F_MUTEX_UNLOCK)
		leave_wait(t, object);
	err = order_access(t, f->pc, object | ORDER_OBJECTS, 1, ORDER_OBJECT |
			   (makes(f->function) || destroys(f->function) ? RACE_WRITE : RACE_READ));
	if (!err && f->function >= DEP_F_COND_INIT && f->function <= DEP_F_COND_BROADCAST) {
		err = order_flush(t);
		return err ? err : about_condition(t, f, object);
	}
	if (err || f->function != DEP_F_RWLOCK_UNLOCK)
		return err;
	if (was_read(t, object))
		return order_release(t, ORDER_READERS, object);
	return order_release(t, ORDER_WRITER, object);
}

int order_lock_leave(struct order_thread *t, const struct order_frame *f, bool known, u64 result)
{
	struct order_calls *c = &t->calls;
	u64 lock = order_at(t, f->arg[0]);
	int err;

	if (!known || (u32)result || !(f->known & 1) ||
	    !(reads(f->function) || writes(f->function)))
		return 0;
	err = order_acquire(t, ORDER_WRITER, lock);
	if (err || writes(f->function))
		return err ? err : order_acquire(t, ORDER_READERS, lock);
	/* Of more than there is room for the last is taken for one that is written. */
	if (c->nread < ORDER_HELD)
		c->read[c->nread++] = lock;
	return 0;
}
