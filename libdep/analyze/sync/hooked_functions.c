// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Watched functions that a thread is in, and what is done in them.
 *
 * What an allocator or a read-write lock does inside is left out: how it orders threads is
 * no order that a program may count on, and its data are its own business.  What the
 * function means is told instead.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hooked_functions.h"

/* Frames of an interrupted level are above those of the handler, and stay. */
static bool at_hand(const struct order_thread *t)
{
	const struct order_calls *c = &t->calls;

	return c->n && c->frame[c->n - 1].level == c->level;
}

/* Whatever it came out of the last one by, it does not wait in there any more. */
static struct order_frame drop(struct order_thread *t)
{
	struct order_frame last = t->calls.frame[--t->calls.n];

	if (order_waits(last.function))
		order_wait_over(t);
	return last;
}

static void set_muted(struct order_thread *t)
{
	struct order_calls *c = &t->calls;
	u32 i = c->n;

	t->muted = false;
	while (i-- && c->frame[i].level == c->level)
		t->muted |= dep_function_mutes(c->frame[i].function);
}

static int push(struct order_thread *t, const struct dep_function_call *f)
{
	struct order_calls *c = &t->calls;
	struct order_frame *more;
	u32 room;

	if (c->n == c->room) {
		room = c->room ? 2 * c->room : 16;
		more = realloc(c->frame, room * sizeof(*more));
		if (!more)
			return order_no_memory();
		c->frame = more;
		c->room = room;
	}
	c->frame[c->n] = (struct order_frame){
		.sp = f->passed->sp, .pc = f->pc, .function = f->function, .known = f->known,
		.level = c->level, .depth = t->depth, .again = f->passed->again,
	};
	memcpy(c->frame[c->n++].arg, f->passed->value, sizeof(f->passed->value));
	set_muted(t);
	return 0;
}

static int entered(struct order_thread *t, const struct dep_function_call *f)
{
	struct order_calls *c = &t->calls;
	bool outside;
	int err;

	/* Left by longjmp() or an exception, or by a jump to this one. */
	while (at_hand(t) && c->frame[c->n - 1].sp <= f->passed->sp)
		drop(t);
	set_muted(t);
	outside = !t->muted;
	err = push(t, f);
	t->image->functions = true;
	if (err || !outside)
		return err;
	if (dep_function_is_heap(f->function))
		return order_heap_enter(t, &c->frame[c->n - 1]);
	/* It uses the object while it has the lock. */
	err = order_lock_enter(t, &c->frame[c->n - 1]);
	return err ? err : order_held_enter(t, &c->frame[c->n - 1]);
}

static int returned(struct order_thread *t, const struct dep_function_call *f)
{
	struct order_calls *c = &t->calls;
	struct order_frame last = { 0 };
	int err;

	while (at_hand(t) && c->frame[c->n - 1].sp < f->passed->sp)
		last = drop(t);
	set_muted(t);
	if (last.sp != f->passed->sp - 8 || t->muted)
		return 0;
	if (dep_function_is_heap(last.function))
		return order_heap_leave(t, &last, f);
	err = order_held_leave(t, &last, f->known & 1, f->passed->value[0]);
	return err ? err : order_lock_leave(t, &last, f->known & 1, f->passed->value[0]);
}

int order_function(struct order_thread *t, const struct dep_function_call *f)
{
	return f->is_return ? returned(t, f) : entered(t, f);
}

void order_functions_left(struct order_thread *t, u64 pc)
{
	struct order_calls *c = &t->calls;
	u64 inner = c->frame[c->n - 1].pc;

	/* An allocator may be the program's own. */
	if (order_code(t->feed, t->image, inner) == DEP_CODE_PROGRAM ||
	    order_code(t->feed, t->image, pc) != DEP_CODE_PROGRAM)
		return;
	while (at_hand(t))
		drop(t);
	set_muted(t);
}

/* The first two of real time are the C library's own; by one of them it cancels threads. */
static bool may_cancel(u32 signo)
{
	return signo == 32 || signo == 33;
}

void order_functions_signal(struct order_thread *t, u32 signo)
{
	t->calls.level++;
	if (may_cancel(signo))
		t->calls.cancelling = t->calls.level;
	set_muted(t);
}

/* The wait that was interrupted by what is at hand. */
static const struct order_frame *interrupted_wait(const struct order_calls *c)
{
	u32 i = c->n;

	while (i-- && c->frame[i].level >= c->level)
		;
	return i != ~0u && order_waits(c->frame[i].function) ? &c->frame[i] : NULL;
}

void order_functions_locked(struct order_thread *t, u64 place)
{
	struct order_calls *c = &t->calls;
	const struct order_frame *f = c->cancelling && c->level == c->cancelling ?
				      interrupted_wait(c) : NULL;

	if (f && f->known & 2 && place - order_at(t, f->arg[1]) < sizeof(pthread_mutex_t))
		c->relocked = true;
}

int order_functions_cancelled(struct order_thread *t)
{
	struct order_frame last;
	int err = 0;

	t->calls.cancelling = 0;
	t->calls.relocked = false;
	while (t->calls.n && !err) {
		last = drop(t);
		if (order_waits(last.function))
			err = order_held_leave(t, &last, false, 0);
	}
	set_muted(t);
	return err;
}

void order_functions_sigreturn(struct order_thread *t)
{
	struct order_calls *c = &t->calls;

	if (c->cancelling && c->cancelling >= c->level)
		c->cancelling = c->relocked = 0;
	if (c->level)
		c->level--;
	while (c->n && c->frame[c->n - 1].level > c->level)
		drop(t);
	set_muted(t);
}

void order_functions_lost(struct order_thread *t)
{
	order_wait_over(t);
	t->calls.n = t->calls.level = t->calls.nread = t->calls.cancelling = 0;
	t->calls.relocked = false;
	order_held_lost(t);
	t->muted = false;
}

void order_functions_free(struct order_thread *t)
{
	free(t->calls.frame);
	order_held_free(&t->held);
}
