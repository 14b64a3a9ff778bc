/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What prediction (../predict) is told of a process.
 *
 * Locks of pthreads are locks to it, by the functions that take and leave them; the words that
 * they are made of order nothing then.  All else that orders threads does here, too, and system
 * calls whose result may depend on those of others as well.
 */
#ifndef ADEPT_ANALYZE_SYNC_PREDICT_EVENTS_H
#define ADEPT_ANALYZE_SYNC_PREDICT_EVENTS_H

#include "hooked_functions.h"

#define SYNC_PLACE	4u	/* addresses of a place, the innermost first; 0: no more */

/** struct sync_thread_log - of a process; it stays from one pass to the next */
struct sync_thread_log {
	struct sync_thread_log *next;
	u32 process;
	struct predict *predict;
	struct { u64 pc[SYNC_PLACE]; u32 next; } *place;
	u32 nplaces, places_room;
	u32 head[4096];
	/* Who raced with the access at hand, and since when what it does may depend on that. */
	struct { u32 thread; u64 epoch; } raced[16];
	u32 nraced;
	bool many;		/* more than there is room for */
	/* Tries that failed while others were about to take the lock. */
	struct { u64 lock, since; u32 thread; } tried[64];
	u32 ntried;
};

/** sync_thread_log_of() - made if it is new; NULL: no memory */
struct sync_thread_log *sync_thread_log_of(struct sync_events *f, u32 process);
void sync_thread_logs_again(struct sync_events *f);
void sync_thread_logs_free(struct sync_events *f);

/* All of these do nothing if there is no prediction. */

/** sync_predict_note() - only if there is: the code at @pc accesses memory */
void sync_predict_note(struct sync_thread *t, u64 pc, u32 flags);
/** sync_predict_flush() - as sync_flush() */
int sync_predict_flush(struct sync_thread *t, u32 n);
/** sync_predict_access() - of memory that the detector was told of beside sync_access() */
int sync_predict_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags,
			bool known);
void sync_predict_forget(struct sync_process *p, u64 address, u64 size);
int sync_predict_acquire(struct sync_thread *t, struct sync_object *o);
int sync_predict_release(struct sync_thread *t, struct sync_object *o);
int sync_predict_barrier_all(struct sync_thread *t);
int sync_predict_thread(struct sync_process *p, u32 index, const struct sync_thread *parent);
void sync_predict_gap(struct sync_thread *t);
/** sync_predict_call() - a system call begins, or has ended */
int sync_predict_call(struct sync_thread *t, const struct adept_ev_syscall *c);
/** sync_predict_report() - struct race_ops.report, whose @arg is a struct sync_process */
void sync_predict_report(void *arg, const struct race_found *found);

/** sync_predict_lock() - @t has taken it, by the call of @f */
int sync_predict_lock(struct sync_thread *t, u64 lock, bool reading,
		      const struct sync_frame *f);
int sync_predict_unlock(struct sync_thread *t, u64 lock, const struct sync_frame *f);
/** sync_predict_tried() - it was not to be had, or @dead: its owner has ended */
int sync_predict_tried(struct sync_thread *t, u64 lock, bool dead);
/** sync_in_lock() - is that what the function that @t is in makes a lock of? */
bool sync_in_lock(const struct sync_thread *t, u64 address);

#endif
