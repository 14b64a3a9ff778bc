/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What calls of watched functions (dep/functions.h) mean for the order of threads and for
 * memory.
 */
#ifndef ADEPT_ANALYZE_SYNC_HOOKED_FUNCTIONS_H
#define ADEPT_ANALYZE_SYNC_HOOKED_FUNCTIONS_H

#include "events.h"

/* ---- hooked_functions.c ---- */

/** order_function() - @t enters one, or comes to where one may have returned */
int order_function(struct order_thread *t, const struct dep_function_call *f);
/**
 * order_functions_left() - while muted: the code at @pc accesses memory
 *
 * The C library's functions do not call the program's: by a jump the thread has left them.
 */
void order_functions_left(struct order_thread *t, u64 pc);
/** order_functions_signal() - a handler runs: what it does is not done by what it interrupts */
void order_functions_signal(struct order_thread *t, u32 signo);
/** order_functions_locked() - a locked instruction changed what is at that place */
void order_functions_locked(struct order_thread *t, u64 place);
/**
 * order_functions_cancelled() - behind that, @t.calls.relocked: the program's code runs
 *
 * Who is cancelled in a wait for a condition locks the mutex and then runs its cleanup handlers,
 * all within the handler of a signal that never returns.
 */
int order_functions_cancelled(struct order_thread *t);
void order_functions_sigreturn(struct order_thread *t);
/** order_functions_lost() - what @t did is not known: it may be in none of them any more */
void order_functions_lost(struct order_thread *t);
void order_functions_free(struct order_thread *t);

/* ---- heap.c ---- */

int order_heap_enter(struct order_thread *t, const struct order_frame *f);
/** order_heap_leave() - @left: the return */
int order_heap_leave(struct order_thread *t, const struct order_frame *f,
		     const struct dep_function_call *left);
/** order_heap_note() - keep in which block of @m @w is, if in any */
int order_heap_note(const struct order_image *m, struct order_stack *w);
void order_heap_free(struct order_heap *h);

/* ---- rwlocks.c ---- */

int order_lock_enter(struct order_thread *t, const struct order_frame *f);
/** order_wait_over() - @t waits for no condition any more */
void order_wait_over(struct order_thread *t);
int order_lock_leave(struct order_thread *t, const struct order_frame *f, bool known, u64 result);

/* ---- locks_held.c ---- */

/** order_takes() - the kind of lock that the function takes, if it succeeds */
enum order_take order_takes(u32 function);
/** order_leaves() - does it leave one? */
bool order_leaves(u32 function);
/** order_waits() - does it wait for a condition? */
bool order_waits(u32 function);
int order_held_enter(struct order_thread *t, const struct order_frame *f);
int order_held_leave(struct order_thread *t, const struct order_frame *f, bool known, u64 result);
/** order_held_own() - the program's own code executed a locked instruction */
void order_held_own(struct order_thread *t, u64 pc, u64 address);
/** order_held_note() - keep which locks @t holds */
int order_held_note(struct order_thread *t, struct order_stack *w);
/** order_held_lost() - what @t did is not known */
void order_held_lost(struct order_thread *t);
void order_held_free(struct order_held *h);
/** order_held_give_up() - free what order_held_note() kept */
void order_held_give_up(struct order_lock *held, u32 n);

#endif
