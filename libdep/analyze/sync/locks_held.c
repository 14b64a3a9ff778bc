// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The locks that threads hold, for race reports and race prediction. They are tracked only in a
 * pass that collects stacks, or with prediction.
 *
 * Only locks taken by hooked functions are recognised. The program may also implement locks of its
 * own. A race report names a candidate for one: the word that the thread's last locked instruction
 * outside of hooked functions accessed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predict_events.h"

static struct sync_lock *find(struct sync_held_locks *h, u64 address)
{
	u32 i = h->n;

	while (i--)
		if (h->lock[i].address == address)
			return &h->lock[i];
	return NULL;
}

static int take(struct sync_thread *t, const struct sync_frame *f, enum sync_acquire_kind how)
{
	struct sync_held_locks *h = &t->held;
	struct sync_lock *l = find(h, f->arg[0]);
	void *more;
	u32 room;

	if (l) {
		l->times++;
		return 0;
	}
	if (h->n == h->room) {
		room = h->room ? 2 * h->room : 8;
		more = realloc(h->lock, room * sizeof(*h->lock));
		if (!more)
			return sync_no_memory();
		h->lock = more;
		h->room = room;
	}
	l = &h->lock[h->n++];
	*l = (struct sync_lock){
		.address = f->arg[0], .times = 1, .how = how, .place = { .at = f->at },
	};
	return sync_predict_lock(t, f->arg[0], how == SYNC_TAKES_READ, f);
}

static int leave(struct sync_thread *t, const struct sync_frame *f)
{
	struct sync_held_locks *h = &t->held;
	struct sync_lock *l = find(h, f->arg[0]);

	if (!l || --l->times)
		return 0;
	h->n--;
	memmove(l, l + 1, (size_t)(h->lock + h->n - l) * sizeof(*l));
	return sync_predict_unlock(t, f->arg[0], f);
}

/*
 * A hooked function is entered: unlock at once, or mark the mutex of a condition wait, which is
 * unlocked somewhere inside.
 */
int sync_held_locks_enter(struct sync_thread *t, const struct sync_frame *f)
{
	struct sync_lock *l;

	if (!t->sync->nwant && !t->process->future)
		return 0;
	if (sync_leaves(f->function) && f->known & 1)
		return leave(t, f);
	l = sync_may_block(f->function) && f->known & 2 ? find(&t->held, f->arg[1]) : NULL;
	if (l)
		l->waiting = t->held.waiting = t->calls.level + 1;
	return 0;
}

static int waited(struct sync_thread *t, struct sync_lock *l, const struct sync_frame *f)
{
	int err;

	l->place.at = f->at;
	l->waiting = t->held.waiting = 0;
	err = sync_predict_unlock(t, l->address, f);
	return err ? err : sync_predict_lock(t, l->address, false, f);
}

/* A hooked function has returned. Ignore failed unlocks: they change no lock of the thread. */
int sync_held_locks_leave(struct sync_thread *t, const struct sync_frame *f, bool known, u64 result)
{
	enum sync_acquire_kind how = sync_acquires(f->function);
	struct sync_lock *l;
	int err = 0;

	if (!t->sync->nwant && !t->process->future)
		return 0;
	l = sync_may_block(f->function) && f->known & 2 ? find(&t->held, f->arg[1]) : NULL;
	if (l)
		return waited(t, l, f);
	if (!how)
		return 0;
	if (!known || !(f->known & 1)) {
		t->held.lost = true;
		sync_predict_gap(t);
		return 0;
	}
	if ((u32)result)
		err = sync_predict_tried(t, f->arg[0], (u32)result == EOWNERDEAD);
	if (!err && (!(u32)result || (u32)result == EOWNERDEAD))
		err = take(t, f, how);
	return err;
}

void sync_held_locks_own(struct sync_thread *t, u64 pc, u64 address)
{
	const struct sync_calls *c = &t->calls;

	if (c->n && c->frame[c->n - 1].level == c->level)
		return;
	t->held.own_pc = pc;
	t->held.own_address = sync_address_of(t->image, address);
}

static void give_block(const struct sync_thread *t, struct sync_lock *l)
{
	const struct sync_heap *heap = &t->image->heap;
	u64 place = sync_at(t, l->address);
	const struct sync_block *b;
	u32 i;

	for (i = 0; i < heap->room; i++) {
		b = &heap->block[i];
		if (place - b->address >= b->size)
			continue;
		l->block = sync_address_of(t->image, b->address);
		l->block_size = b->size;
	}
}

int sync_held_locks_note(struct sync_thread *t, struct sync_stack *w)
{
	const struct sync_held_locks *h = &t->held;
	struct sync_lock *l;
	u32 i;

	w->held = calloc(h->n + 1, sizeof(*w->held));
	if (!w->held)
		return sync_no_memory();
	w->held_lost = h->lost;
	w->held_unseen = !t->image->functions;
	w->own_pc = h->own_pc;
	w->own_address = h->own_address;
	for (i = 0; i < h->n; i++) {
		/*
		 * During a condition wait, signal handlers run without the mutex. After a wait that
		 * was left by a jump the thread holds the mutex.
		 */
		if (h->lock[i].waiting && h->lock[i].waiting <= t->calls.level)
			continue;
		l = &w->held[w->nheld];
		*l = h->lock[i];
		give_block(t, l);
		w->nheld++;
	}
	return 0;
}

void sync_held_locks_lost(struct sync_thread *t)
{
	struct sync_held_locks *h = &t->held;

	h->n = 0;
	h->own_pc = h->own_address = 0;
	h->lost = true;
}

void sync_held_locks_free(struct sync_held_locks *h)
{
	free(h->lock);
}
