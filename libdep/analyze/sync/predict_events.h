/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events for race prediction (../predict).
 *
 * Pthreads locks are known by the functions that lock and unlock them; the memory words of these
 * locks order nothing here. All other synchronisation orders, and so do system calls whose results
 * may depend on other threads.
 */
#ifndef ADEPT_ANALYZE_SYNC_PREDICT_EVENTS_H
#define ADEPT_ANALYZE_SYNC_PREDICT_EVENTS_H

#include "hooked_functions.h"

/* number of code addresses in a place, innermost first, zero-terminated */
#define SYNC_PLACE	4u

/** struct sync_thread_log - race prediction of a process; kept from pass to pass */
struct sync_thread_log {
	struct sync_thread_log *next;
	u32 process;
	struct predict *predict;
	struct { u64 pc[SYNC_PLACE]; u32 next; } *place;
	u32 nplaces, places_room;
	u32 head[4096];
	/* Earlier accesses that the current one races with, by thread and interval. */
	struct { u32 thread; u64 epoch; } raced[16];
	u32 nraced;
	bool many;		/* true: there were more than fit into @raced */
	/* Failed attempts to lock while another thread was taking the lock. */
	struct { u64 lock, since; u32 thread; } tried[64];
	u32 ntried;
};

/** sync_thread_log_of() - find or make the log of @process; NULL: no memory */
struct sync_thread_log *sync_thread_log_of(struct sync_events *f, u32 process);
void sync_thread_logs_again(struct sync_events *f);
void sync_thread_logs_free(struct sync_events *f);

/*
 * Without prediction, do not call sync_predict_note(), sync_predict_flush() and
 * sync_predict_report(); the other functions do nothing then.
 */

/** sync_predict_note() - the code at @pc accesses memory; only call it with prediction */
void sync_predict_note(struct sync_thread *t, u64 pc, u32 flags);
/** sync_predict_flush() - sync_flush() for prediction: handle the @n batched accesses of @t */
int sync_predict_flush(struct sync_thread *t, u32 n);
/** sync_predict_access() - handle an access that the detector got without sync_access() */
int sync_predict_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags,
			bool known);
void sync_predict_forget(struct sync_process *p, u64 address, u64 size);
int sync_predict_acquire(struct sync_thread *t, struct sync_object *o);
int sync_predict_release(struct sync_thread *t, struct sync_object *o);
int sync_predict_barrier_all(struct sync_thread *t);
int sync_predict_thread(struct sync_process *p, u32 index, const struct sync_thread *parent);
void sync_predict_gap(struct sync_thread *t);
/** sync_predict_report() - callback for race_ops.report; @arg is a struct sync_process */
void sync_predict_report(void *arg, const struct race_found *found);

/** sync_in_lock() - is @t in a hooked function that locks or unlocks, and @address in that lock? */
bool sync_in_lock(const struct sync_thread *t, u64 address);

/* ---- places: call stacks of the program's code, as numbers; 0: none ---- */

/** sync_predict_place() - get the place of the outermost @depth entries of @t's call stack */
u32 sync_predict_place(struct sync_thread *t, u32 depth);
/** sync_predict_lock_place() - get the place (call stack number) of the locking call @f */
u32 sync_predict_lock_place(struct sync_thread *t, const struct sync_frame *f);
/** sync_function_at_hand() - get the hooked function that @t is in; NULL: none */
const struct sync_frame *sync_function_at_hand(const struct sync_thread *t);

/* ---- predict_locks.c ---- */

/** sync_predict_call() - a system call of @t begins or has ended */
int sync_predict_call(struct sync_thread *t, const struct adept_ev_syscall *c);
/** sync_predict_lock() - @t has taken @lock by the call @f; @reading: a read lock */
int sync_predict_lock(struct sync_thread *t, u64 lock, bool reading,
		      const struct sync_frame *f);
int sync_predict_unlock(struct sync_thread *t, u64 lock, const struct sync_frame *f);
/** sync_predict_tried() - @t failed to take @lock, or @dead: took it after its owner had died */
int sync_predict_tried(struct sync_thread *t, u64 lock, bool dead);

#endif
