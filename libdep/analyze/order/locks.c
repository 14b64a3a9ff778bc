// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Read-write locks, whose readers are not ordered by them though they change the same word;
 * and objects that are made and destroyed while others use them.
 *
 * The latter are kept in memory of their own, ORDER_OBJECTS away from that of the program:
 * who makes or destroys an object writes to it there, who uses it reads.
 */
#include "functions.h"

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

int order_lock_enter(struct order_thread *t, const struct order_frame *f)
{
	u64 object = order_at(t, f->arg[0]);
	int err;

	if (!(f->known & 1) || f->function >= DEP_F_THREAD_CREATE)
		return 0;
	err = order_access(t, f->pc, object | ORDER_OBJECTS, 1, ORDER_OBJECT |
			   (makes(f->function) || destroys(f->function) ? RACE_WRITE : RACE_READ));
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
