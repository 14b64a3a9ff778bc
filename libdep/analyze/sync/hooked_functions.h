/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What calls of watched functions (dep/functions.h) mean for the order of threads and for
 * memory.
 */
#ifndef ADEPT_ANALYZE_SYNC_HOOKED_FUNCTIONS_H
#define ADEPT_ANALYZE_SYNC_HOOKED_FUNCTIONS_H

#include "events.h"

/* ---- hooked_functions.c ---- */

/** sync_function() - @t enters one, or comes to where one may have returned */
int sync_function(struct sync_thread *t, const struct dep_function_call *f);
/**
 * sync_functions_left() - while muted: the code at @pc accesses memory
 *
 * The C library's functions do not call the program's: by a jump the thread has left them.
 */
void sync_functions_left(struct sync_thread *t, u64 pc);
/** sync_functions_signal() - a handler runs: what it does is not done by what it interrupts */
void sync_functions_signal(struct sync_thread *t, u32 signo);
/** sync_functions_locked() - a locked instruction changed what is at that place */
void sync_functions_locked(struct sync_thread *t, u64 place);
/**
 * sync_functions_cancelled() - after that, @t.calls.relocked: the program's code runs
 *
 * Who is cancelled in a wait for a condition locks the mutex and then runs its cleanup handlers,
 * all within the handler of a signal that never returns.
 */
int sync_functions_cancelled(struct sync_thread *t);
void sync_functions_sigreturn(struct sync_thread *t);
/** sync_functions_lost() - what @t did is not known: it may be in none of them any more */
void sync_functions_lost(struct sync_thread *t);
void sync_functions_free(struct sync_thread *t);

/* ---- heap.c ---- */

int sync_heap_enter(struct sync_thread *t, const struct sync_frame *f);
/** sync_heap_leave() - @left: the return */
int sync_heap_leave(struct sync_thread *t, const struct sync_frame *f,
		    const struct dep_function_call *left);
/** sync_heap_note() - keep in which block of @m @w is, if in any */
int sync_heap_note(const struct sync_image *m, struct sync_stack *w);
void sync_heap_free(struct sync_heap *h);

/* ---- rwlocks.c ---- */

int sync_lock_enter(struct sync_thread *t, const struct sync_frame *f);
/** sync_wait_over() - @t waits for no condition any more */
void sync_wait_over(struct sync_thread *t);
int sync_lock_leave(struct sync_thread *t, const struct sync_frame *f, bool known, u64 result);

/* ---- locks_held.c ---- */

/** sync_acquires() - the kind of lock that the function takes, if it succeeds */
enum sync_acquire_kind sync_acquires(u32 function);
/** sync_leaves() - does it leave one? */
bool sync_leaves(u32 function);
/** sync_may_block() - does it wait for a condition? */
bool sync_may_block(u32 function);
int sync_held_locks_enter(struct sync_thread *t, const struct sync_frame *f);
int sync_held_locks_leave(struct sync_thread *t, const struct sync_frame *f, bool known,
			  u64 result);
/** sync_held_locks_own() - the program's own code executed a locked instruction */
void sync_held_locks_own(struct sync_thread *t, u64 pc, u64 address);
/** sync_held_locks_note() - keep which locks @t holds */
int sync_held_locks_note(struct sync_thread *t, struct sync_stack *w);
/** sync_held_locks_lost() - what @t did is not known */
void sync_held_locks_lost(struct sync_thread *t);
void sync_held_locks_free(struct sync_held_locks *h);
/** sync_held_locks_give_up() - free what sync_held_locks_note() kept */
void sync_held_locks_give_up(struct sync_lock *held, u32 n);

#endif
