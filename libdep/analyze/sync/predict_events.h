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

#define ORDER_PLACE	4u	/* addresses of a place, the innermost first; 0: no more */

/** struct order_future - of a process; it stays from one pass to the next */
struct order_future {
	struct order_future *next;
	u32 process;
	struct predict *predict;
	struct { u64 pc[ORDER_PLACE]; u32 next; } *place;
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

/** order_future_of() - made if it is new; NULL: no memory */
struct order_future *order_future_of(struct order_feed *f, u32 process);
void order_futures_again(struct order_feed *f);
void order_futures_free(struct order_feed *f);

/* All of these do nothing if there is no prediction. */

/** order_predict_seen() - only if there is: the code at @pc accesses memory */
void order_predict_seen(struct order_thread *t, u64 pc, u32 flags);
/** order_predict_flush() - as order_flush() */
int order_predict_flush(struct order_thread *t, u32 n);
/** order_predict_access() - of memory that the detector was told of beside order_access() */
int order_predict_access(struct order_thread *t, u64 pc, u64 address, u64 size, u32 flags,
			 bool known);
void order_predict_forget(struct order_process *p, u64 address, u64 size);
int order_predict_acquire(struct order_thread *t, struct order_object *o);
int order_predict_release(struct order_thread *t, struct order_object *o);
int order_predict_everything(struct order_thread *t);
int order_predict_thread(struct order_process *p, u32 index, const struct order_thread *parent);
void order_predict_gap(struct order_thread *t);
/** order_predict_call() - a system call begins, or has ended */
int order_predict_call(struct order_thread *t, const struct adept_ev_syscall *c);
/** order_predict_report() - struct race_ops.report, whose @arg is a struct order_process */
void order_predict_report(void *arg, const struct race_found *found);

/** order_predict_lock() - @t has taken it, by the call of @f */
int order_predict_lock(struct order_thread *t, u64 lock, bool reading,
		       const struct order_frame *f);
int order_predict_unlock(struct order_thread *t, u64 lock, const struct order_frame *f);
/** order_predict_tried() - it was not to be had, or @dead: its owner has ended */
int order_predict_tried(struct order_thread *t, u64 lock, bool dead);
/** order_in_lock() - is that what the function that @t is in makes a lock of? */
bool order_in_lock(const struct order_thread *t, u64 address);

#endif
