// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Read-write locks, and the lifetime of pthreads objects.
 *
 * Readers of a lock are not ordered by it, though they all change the same memory word. So the
 * lock's functions are hooked, and accesses to the word are dropped.
 *
 * Each object has a byte in the detector, at SYNC_OBJECTS | address of the object. Creating or
 * destroying the object writes the byte; using it reads the byte.
 */
#include <stdlib.h>

#include "hooked_functions.h"

/* Does the function initialise the object that is its first argument? */
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

/* Did the thread hold @lock for reading? If so, remove it from the list of read-held locks. */
static bool was_read(struct sync_thread *t, u64 lock)
{
	struct sync_calls *c = &t->calls;
	u32 i = 0;

	while (i < c->nread && c->read[i] != lock)
		i++;
	if (i == c->nread)
		return false;
	c->read[i] = c->read[--c->nread];
	return true;
}

/* ---- condition variables destroyed while a thread waits ---- */

static int begin_wait(struct sync_thread *t, const struct sync_frame *f, u64 object)
{
	struct sync_process *p = t->process;
	u32 room = p->waiters_room ? 2 * p->waiters_room : 16;
	struct sync_thread **more;

	sync_wait_over(t);
	if (p->nwaiters == p->waiters_room) {
		more = realloc(p->waiter, room * sizeof(struct sync_thread *));
		if (!more)
			return sync_no_memory();
		p->waiter = more;
		p->waiters_room = room;
	}
	p->waiter[p->nwaiters++] = t;
	t->wait.object = object;
	t->wait.mutex = f->known & 2 ? sync_at(t, f->arg[1]) : 0;
	t->wait.pc = f->pc;
	t->wait.epoch = race_epoch(p->detector, t->index);
	return 0;
}

void sync_wait_over(struct sync_thread *t)
{
	struct sync_process *p = t->process;
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
 * End the condition wait of a thread that unlocks its mutex. A cancelled thread runs its cleanup
 * handlers within the wait, and a signal handler left by a jump never ends the wait. (If the C
 * library implements a wait by the hooked unlock function, each wait ends here at once.)
 */
static void leave_wait(struct sync_thread *t, u64 mutex)
{
	if (t->wait.mutex == mutex)
		sync_wait_over(t);
}

/*
 * A thread signals the condition @object: end the waits of all its waiters. Any of them may be
 * woken, and may still be in the wait function when the condition is destroyed.
 */
static void wake(const struct sync_process *p, u64 object)
{
	u32 i;

	for (i = p->nwaiters; i--;)
		if (p->waiter[i]->wait.object == object)
			sync_wait_over(p->waiter[i]);
}

/*
 * Report a race of destroying the condition @object with each waiter. No waiter was woken, so it is
 * a race whatever the order.
 */
static void destroy(struct sync_thread *t, u64 object, u64 pc)
{
	struct sync_process *p = t->process;
	struct race_found found = {
		.current = {
			.thread = t->index, .flags = RACE_WRITE | SYNC_OBJECT,
			.epoch = race_epoch(p->detector, t->index), .pc = pc,
		},
		.address = object | SYNC_OBJECTS, .size = 1,
	};
	u32 i;

	for (i = 0; i < p->nwaiters; i++) {
		const struct sync_thread *o = p->waiter[i];

		if (o->wait.object != object)
			continue;
		if (t->sync->pass == SYNC_FIRST)
			dep_word_set_add(&p->scope->raced, found.address, found.size);
		found.prior = (struct race_access){
			.thread = o->index, .flags = RACE_READ | SYNC_OBJECT,
			.epoch = o->wait.epoch, .pc = o->wait.pc,
		};
		race_rows_report(p->rows, &found);
	}
}

/* ---- all hooked functions of locks ---- */

static int about_condition(struct sync_thread *t, const struct sync_frame *f, u64 object)
{
	if (sync_may_block(f->function))
		return t->early ? 0 : begin_wait(t, f, object);
	if (f->function == DEP_F_COND_SIGNAL || f->function == DEP_F_COND_BROADCAST)
		wake(t->process, object);
	else if (f->function == DEP_F_COND_DESTROY)
		destroy(t, object, f->pc);
	return 0;
}

int sync_lock_enter(struct sync_thread *t, const struct sync_frame *f)
{
	u64 object = sync_at(t, f->arg[0]);
	int err;

	if (!(f->known & 1) || f->function >= DEP_F_THREAD_CREATE)
		return 0;
	if (f->function == DEP_F_MUTEX_UNLOCK)
		leave_wait(t, object);
	err = sync_access(t, f->pc, object | SYNC_OBJECTS, 1, SYNC_OBJECT |
			  (makes(f->function) || destroys(f->function) ? RACE_WRITE : RACE_READ));
	if (!err && f->function >= DEP_F_COND_INIT && f->function <= DEP_F_COND_BROADCAST) {
		err = sync_flush(t);
		return err ? err : about_condition(t, f, object);
	}
	if (err || f->function != DEP_F_RWLOCK_UNLOCK)
		return err;
	if (was_read(t, object))
		return sync_release(t, SYNC_READERS, object);
	return sync_release(t, SYNC_WRITER, object);
}

int sync_lock_leave(struct sync_thread *t, const struct sync_frame *f, bool known, u64 result)
{
	struct sync_calls *c = &t->calls;
	u64 lock = sync_at(t, f->arg[0]);
	int err;

	if (!known || (u32)result || !(f->known & 1) ||
	    !(reads(f->function) || writes(f->function)))
		return 0;
	err = sync_acquire(t, SYNC_WRITER, lock);
	if (err || writes(f->function))
		return err ? err : sync_acquire(t, SYNC_READERS, lock);
	/* If the array is full, the lock is not stored, and its unlock will count as a writer's. */
	if (c->nread < SYNC_HELD_LOCKS)
		c->read[c->nread++] = lock;
	return 0;
}
