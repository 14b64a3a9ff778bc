// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls of hooked functions (dep/functions.h).
 *
 * Accesses and locked instructions inside an allocator or a read-write lock are dropped: their data
 * are internal, and a program may not rely on the order that they make. What the function does is
 * passed to the detector instead.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hooked_functions.h"

/*
 * Was the innermost call made at the current level of signal handlers? Calls that a handler
 * interrupted stay until it returns.
 */
static bool at_hand(const struct sync_thread *t)
{
	const struct sync_calls *c = &t->calls;

	return c->n && c->frame[c->n - 1].level == c->level;
}

/* Remove the innermost call. If it was a condition wait, the wait is over, too. */
static struct sync_frame drop(struct sync_thread *t)
{
	struct sync_frame last = t->calls.frame[--t->calls.n];

	if (sync_may_block(last.function))
		sync_wait_over(t);
	return last;
}

static void set_muted(struct sync_thread *t)
{
	struct sync_calls *c = &t->calls;
	u32 i = c->n;

	t->muted = false;
	while (i-- && c->frame[i].level == c->level)
		t->muted |= dep_function_mutes(c->frame[i].function);
}

static int push(struct sync_thread *t, const struct dep_function_call *f)
{
	struct sync_calls *c = &t->calls;
	struct sync_frame *more;
	u32 room;

	if (c->n == c->room) {
		room = c->room ? 2 * c->room : 16;
		more = realloc(c->frame, room * sizeof(*more));
		if (!more)
			return sync_no_memory();
		c->frame = more;
		c->room = room;
	}
	c->frame[c->n] = (struct sync_frame){
		.sp = f->passed->sp, .pc = f->pc, .function = f->function, .known = f->known,
		.level = c->level, .depth = t->depth, .again = f->passed->again,
		.at = sync_place_of(t, f->pc).at,
	};
	memcpy(c->frame[c->n++].arg, f->passed->value, sizeof(f->passed->value));
	set_muted(t);
	return 0;
}

/*
 * A spin lock is released by a plain store.  If the lock was taken before the process was attached
 * to, no atomic access has shown that its word is atomic.
 */
static int note_spin_word(struct sync_thread *t, const struct sync_frame *f)
{
	if (f->function != DEP_F_SPIN_UNLOCK || !(f->known & 1))
		return 0;
	return sync_object_get(&t->process->objects, SYNC_WORD, sync_at(t, f->arg[0]) / 4) ?
		       0 : sync_no_memory();
}

static int entered(struct sync_thread *t, const struct dep_function_call *f)
{
	struct sync_calls *c = &t->calls;
	bool outside;
	int err;

	/* Remove calls left by longjmp(), an exception or a jump to this function. */
	while (at_hand(t) && c->frame[c->n - 1].sp <= f->passed->sp)
		drop(t);
	set_muted(t);
	outside = !t->muted;
	err = push(t, f);
	t->image->functions = true;
	if (err || !outside)
		return err;
	if (dep_function_is_heap(f->function))
		return sync_heap_enter(t, &c->frame[c->n - 1]);
	err = note_spin_word(t, &c->frame[c->n - 1]);
	/* First the call's use of the lock object, then the unlock, which releases it. */
	if (!err)
		err = sync_lock_enter(t, &c->frame[c->n - 1]);
	return err ? err : sync_held_locks_enter(t, &c->frame[c->n - 1]);
}

static int returned(struct sync_thread *t, const struct dep_function_call *f)
{
	struct sync_calls *c = &t->calls;
	struct sync_frame last = { 0 };
	int err;

	while (at_hand(t) && c->frame[c->n - 1].sp < f->passed->sp)
		last = drop(t);
	set_muted(t);
	if (last.sp != f->passed->sp - 8 || t->muted)
		return 0;
	if (dep_function_is_heap(last.function))
		return sync_heap_leave(t, &last, f);
	err = sync_held_locks_leave(t, &last, f->known & 1, f->passed->value[0]);
	return err ? err : sync_lock_leave(t, &last, f->known & 1, f->passed->value[0]);
}

int sync_function(struct sync_thread *t, const struct dep_function_call *f)
{
	return f->is_return ? returned(t, f) : entered(t, f);
}

void sync_functions_left(struct sync_thread *t, u64 pc)
{
	struct sync_calls *c = &t->calls;
	u64 inner = c->frame[c->n - 1].pc;

	/* Program code runs outside of a library's function, but maybe inside the program's own. */
	if (sync_code(t->sync, t->image, inner) == DEP_CODE_PROGRAM ||
	    sync_code(t->sync, t->image, pc) != DEP_CODE_PROGRAM)
		return;
	while (at_hand(t))
		drop(t);
	set_muted(t);
}

/* Signals 32 and 33 belong to the C library, which cancels threads by one of them. */
static bool may_cancel(u32 signo)
{
	return signo == 32 || signo == 33;
}

void sync_functions_signal(struct sync_thread *t, u32 signo)
{
	t->calls.level++;
	if (may_cancel(signo))
		t->calls.cancelling = t->calls.level;
	set_muted(t);
}

/* Find the condition wait that the current signal handler interrupted; NULL: none. */
static const struct sync_frame *interrupted_wait(const struct sync_calls *c)
{
	u32 i = c->n;

	while (i-- && c->frame[i].level >= c->level)
		;
	return i != ~0u && sync_may_block(c->frame[i].function) ? &c->frame[i] : NULL;
}

void sync_functions_locked(struct sync_thread *t, u64 place)
{
	struct sync_calls *c = &t->calls;
	const struct sync_frame *f = c->cancelling && c->level == c->cancelling ?
				      interrupted_wait(c) : NULL;

	if (f && f->known & 2 && place - sync_at(t, f->arg[1]) < sizeof(pthread_mutex_t))
		c->relocked = true;
}

int sync_functions_cancelled(struct sync_thread *t)
{
	struct sync_frame last;
	int err = 0;

	t->calls.cancelling = 0;
	t->calls.relocked = false;
	while (t->calls.n && !err) {
		last = drop(t);
		if (sync_may_block(last.function))
			err = sync_held_locks_leave(t, &last, false, 0);
	}
	set_muted(t);
	return err;
}

void sync_functions_sigreturn(struct sync_thread *t)
{
	struct sync_calls *c = &t->calls;

	if (c->cancelling && c->cancelling >= c->level)
		c->cancelling = c->relocked = 0;
	if (c->level)
		c->level--;
	while (c->n && c->frame[c->n - 1].level > c->level)
		drop(t);
	set_muted(t);
}

void sync_functions_lost(struct sync_thread *t)
{
	sync_wait_over(t);
	t->calls.n = t->calls.level = t->calls.nread = t->calls.cancelling = 0;
	t->calls.relocked = false;
	sync_held_locks_lost(t);
	t->muted = false;
}

void sync_functions_free(struct sync_thread *t)
{
	free(t->calls.frame);
	sync_held_locks_free(&t->held);
}
