// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Locks that threads hold, for those who read of a race, and for prediction.  They are kept in a
 * pass with wanted stacks, or with that, only.
 *
 * They are known by the functions that take and leave them.  Who makes locks himself does so by
 * locked instructions of his own, the last of which is kept: it may have been one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predict_events.h"

#define FRAMES	64u	/* of where it was taken; a deeper stack is cut off */

enum order_take order_takes(u32 f)
{
	if (f >= DEP_F_MUTEX_LOCK && f <= DEP_F_MUTEX_CLOCKLOCK)
		return ORDER_TAKES_MUTEX;
	if (f == DEP_F_SPIN_LOCK || f == DEP_F_SPIN_TRYLOCK)
		return ORDER_TAKES_SPIN;
	if (f >= DEP_F_RWLOCK_RDLOCK && f <= DEP_F_RWLOCK_CLOCKRDLOCK)
		return ORDER_TAKES_READ;
	if (f >= DEP_F_RWLOCK_WRLOCK && f <= DEP_F_RWLOCK_CLOCKWRLOCK)
		return ORDER_TAKES_WRITE;
	return ORDER_TAKES_NOTHING;
}

bool order_leaves(u32 f)
{
	return f == DEP_F_MUTEX_UNLOCK || f == DEP_F_SPIN_UNLOCK || f == DEP_F_RWLOCK_UNLOCK;
}

bool order_waits(u32 f)
{
	return f >= DEP_F_COND_WAIT && f <= DEP_F_COND_CLOCKWAIT;
}

static struct order_lock *find(struct order_held *h, u64 address)
{
	u32 i = h->n;

	while (i--)
		if (h->lock[i].address == address)
			return &h->lock[i];
	return NULL;
}

/* The call of @f is what was popped last. */
static int set_place(struct order_thread *t, struct order_lock *l, const struct order_frame *f)
{
	u32 depth = f->depth, n = depth < FRAMES ? depth : FRAMES;
	u64 *frame;

	if (!t->feed->nwant)
		return 0;
	frame = malloc((n + 1) * sizeof(*frame));
	if (!frame)
		return order_no_memory();
	free(l->frame);
	l->frame = frame;
	for (l->nframes = 0; l->nframes < n; l->nframes++)
		frame[l->nframes] = t->stack[--depth].pc;
	return 0;
}

static int take(struct order_thread *t, const struct order_frame *f, enum order_take how)
{
	struct order_held *h = &t->held;
	struct order_lock *l = find(h, f->arg[0]);
	void *more;
	u32 room;
	int err;

	if (l) {
		l->times++;
		return 0;
	}
	if (h->n == h->room) {
		room = h->room ? 2 * h->room : 8;
		more = realloc(h->lock, room * sizeof(*h->lock));
		if (!more)
			return order_no_memory();
		h->lock = more;
		h->room = room;
	}
	l = &h->lock[h->n++];
	*l = (struct order_lock){ .address = f->arg[0], .times = 1, .how = how };
	err = set_place(t, l, f);
	return err ? err : order_predict_lock(t, f->arg[0], how == ORDER_TAKES_READ, f);
}

static int leave(struct order_thread *t, const struct order_frame *f)
{
	struct order_held *h = &t->held;
	struct order_lock *l = find(h, f->arg[0]);

	if (!l || --l->times)
		return 0;
	free(l->frame);
	h->n--;
	memmove(l, l + 1, (size_t)(h->lock + h->n - l) * sizeof(*l));
	return order_predict_unlock(t, f->arg[0], f);
}

/* Who waits for a condition leaves the lock somewhere inside. */
int order_held_enter(struct order_thread *t, const struct order_frame *f)
{
	struct order_lock *l;

	if (!t->feed->nwant && !t->process->future)
		return 0;
	if (order_leaves(f->function) && f->known & 1)
		return leave(t, f);
	l = order_waits(f->function) && f->known & 2 ? find(&t->held, f->arg[1]) : NULL;
	if (l)
		l->waiting = t->held.waiting = t->calls.level + 1;
	return 0;
}

static int waited(struct order_thread *t, struct order_lock *l, const struct order_frame *f)
{
	int err = set_place(t, l, f);

	l->waiting = t->held.waiting = 0;
	if (!err)
		err = order_predict_unlock(t, l->address, f);
	return err ? err : order_predict_lock(t, l->address, false, f);
}

/* An unlocking that failed was of a lock that it did not hold. */
int order_held_leave(struct order_thread *t, const struct order_frame *f, bool known, u64 result)
{
	enum order_take how = order_takes(f->function);
	struct order_lock *l;
	int err = 0;

	if (!t->feed->nwant && !t->process->future)
		return 0;
	l = order_waits(f->function) && f->known & 2 ? find(&t->held, f->arg[1]) : NULL;
	if (l)
		return waited(t, l, f);
	if (!how)
		return 0;
	if (!known || !(f->known & 1)) {
		t->held.lost = true;
		order_predict_gap(t);
		return 0;
	}
	if ((u32)result)
		err = order_predict_tried(t, f->arg[0], (u32)result == EOWNERDEAD);
	if (!err && (!(u32)result || (u32)result == EOWNERDEAD))
		err = take(t, f, how);
	return err;
}

void order_held_own(struct order_thread *t, u64 pc, u64 address)
{
	const struct order_calls *c = &t->calls;

	if (c->n && c->frame[c->n - 1].level == c->level)
		return;
	t->held.own_pc = pc;
	t->held.own_address = order_address_of(t->image, address);
}

static void give_block(const struct order_thread *t, struct order_lock *l)
{
	const struct order_heap *heap = &t->image->heap;
	u64 place = order_at(t, l->address);
	const struct order_block *b;
	u32 i;

	for (i = 0; i < heap->room; i++) {
		b = &heap->block[i];
		if (place - b->address >= b->size)
			continue;
		l->block = order_address_of(t->image, b->address);
		l->block_size = b->size;
	}
}

int order_held_note(struct order_thread *t, struct order_stack *w)
{
	const struct order_held *h = &t->held;
	struct order_lock *l;
	u32 i;

	w->held = calloc(h->n + 1, sizeof(*w->held));
	if (!w->held)
		return order_no_memory();
	w->held_lost = h->lost;
	w->held_unseen = !t->image->functions;
	w->own_pc = h->own_pc;
	w->own_address = h->own_address;
	for (i = 0; i < h->n; i++) {
		/* While it waits a handler runs without; behind a wait that was left it has it. */
		if (h->lock[i].waiting && h->lock[i].waiting <= t->calls.level)
			continue;
		l = &w->held[w->nheld];
		*l = h->lock[i];
		l->frame = malloc((l->nframes + 1) * sizeof(*l->frame));
		if (!l->frame)
			return order_no_memory();
		memcpy(l->frame, h->lock[i].frame, l->nframes * sizeof(*l->frame));
		give_block(t, l);
		w->nheld++;
	}
	return 0;
}

void order_held_lost(struct order_thread *t)
{
	struct order_held *h = &t->held;

	while (h->n)
		free(h->lock[--h->n].frame);
	h->own_pc = h->own_address = 0;
	h->lost = true;
}

void order_held_free(struct order_held *h)
{
	while (h->n)
		free(h->lock[--h->n].frame);
	free(h->lock);
}

void order_held_give_up(struct order_lock *held, u32 n)
{
	while (n)
		free(held[--n].frame);
	free(held);
}
