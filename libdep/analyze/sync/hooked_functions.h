/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of hooked functions (dep/functions.h): their effects on memory and the order of threads. */
#ifndef ADEPT_ANALYZE_SYNC_HOOKED_FUNCTIONS_H
#define ADEPT_ANALYZE_SYNC_HOOKED_FUNCTIONS_H

#include "sync.h"

/* ---- hooked_functions.c ---- */

/** sync_function() - @t enters a hooked function, or is at the return address of a call of one */
int sync_function(struct sync_thread *t, const struct dep_function_call *f);
/**
 * sync_functions_left() - the code at @pc accesses memory while @t's accesses are dropped (muted)
 *
 * The C library's hooked functions do not call the program. So if program code runs, the thread has
 * left them by a jump.
 */
void sync_functions_left(struct sync_thread *t, u64 pc);
/**
 * sync_functions_signal() - a signal handler begins: its accesses are outside of hooked functions
 */
void sync_functions_signal(struct sync_thread *t, u32 signo);
/** sync_functions_locked() - a locked instruction changed the word at @place, see sync_at() */
void sync_functions_locked(struct sync_thread *t, u64 place);
/**
 * sync_functions_cancelled() - program code runs after a cancelled wait locked the mutex again
 *
 * A thread cancelled in a condition wait locks the mutex and then runs its cleanup handlers, all
 * within a signal handler that never returns.
 */
int sync_functions_cancelled(struct sync_thread *t);
void sync_functions_sigreturn(struct sync_thread *t);
/**
 * sync_functions_lost() - after a gap in the records: forget the hooked functions that @t was in
 */
void sync_functions_lost(struct sync_thread *t);
void sync_functions_free(struct sync_thread *t);

/* ---- heap.c ---- */

int sync_heap_enter(struct sync_thread *t, const struct sync_frame *f);
/** sync_heap_leave() - the call @f of an allocator returns; @left: the return */
int sync_heap_leave(struct sync_thread *t, const struct sync_frame *f,
		    const struct dep_function_call *left);

/* ---- heap_blocks.c ---- */

/** sync_heap_add() - add a block that the call @f allocated; 0 or -ENOMEM */
int sync_heap_add(struct sync_thread *t, const struct sync_frame *f, u64 address, u64 size);
/** sync_heap_find() - find the block that begins at @address; NULL: none */
struct sync_block *sync_heap_find(const struct sync_heap *h, u64 address);
void sync_heap_remove(struct sync_heap *h, struct sync_block *b);
/** sync_heap_note() - copy the block of @m that contains w->address, and its origin, to @w */
int sync_heap_note(const struct sync_image *m, struct sync_stack *w);
void sync_heap_free(struct sync_heap *h);

/* ---- rwlocks.c ---- */

int sync_lock_enter(struct sync_thread *t, const struct sync_frame *f);
/** sync_wait_over() - @t no longer waits for a condition variable */
void sync_wait_over(struct sync_thread *t);
int sync_lock_leave(struct sync_thread *t, const struct sync_frame *f, bool known, u64 result);

/* ---- lock_functions.c ---- */

/** sync_acquires() - return the kind of lock that @function takes if it succeeds */
enum sync_acquire_kind sync_acquires(u32 function);
/** sync_leaves() - does @function unlock? */
bool sync_leaves(u32 function);
/** sync_may_block() - does @function wait for a condition variable? */
bool sync_may_block(u32 function);

/* ---- locks_held.c ---- */

int sync_held_locks_enter(struct sync_thread *t, const struct sync_frame *f);
int sync_held_locks_leave(struct sync_thread *t, const struct sync_frame *f, bool known,
			  u64 result);
/** sync_held_locks_own() - the program's own code executed a locked instruction, maybe a lock */
void sync_held_locks_own(struct sync_thread *t, u64 pc, u64 address);
/** sync_held_locks_note() - copy the locks that @t holds to @w */
int sync_held_locks_note(struct sync_thread *t, struct sync_stack *w);
/** sync_held_locks_lost() - after a gap in the records: the locks that @t holds are unknown */
void sync_held_locks_lost(struct sync_thread *t);
void sync_held_locks_free(struct sync_held_locks *h);

#endif
