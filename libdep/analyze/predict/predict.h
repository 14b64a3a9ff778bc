/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Race prediction: races that did not happen, but can in another order of the same events.
 *
 * It finds sync-preserving races (Mathur, Pavlogiannis and Viswanathan, "Optimal Prediction of
 * Synchronization-Preserving Races", POPL 2021): two accesses to the same byte, one of them a
 * write, that can be adjacent in an order of some of the events in which
 *
 * - each thread executes a prefix of its events,
 * - each read gets the value of the same write, so that all threads take the same path,
 * - critical sections of one lock keep their order, and
 * - all other synchronisation keeps its order.
 *
 * For some pairs it also tries an order in which the critical sections that contain the two
 * accesses come after sections that they preceded. This is a part of sync-reversal (Shi, Mathur and
 * Pavlogiannis, "Optimistic Prediction of Synchronization-Reversal Data Races", ICSE 2024).
 *
 * So every reported race can happen. For two accesses the sync-preserving closure is the smallest
 * set of events that has what precedes both in their threads, with each event what it needs, and
 * with two conflicting sections of a lock the end of the earlier one. If neither access is in the
 * closure, they race: the closure in the order of the recording is the proof.
 *
 * The caller passes in all events twice, in one order that agrees with that of each thread, lock
 * and synchronisation object. The first pass finds the memory that can be in such a race
 * (candidates.c). The second pass keeps what happens to it (trace.c, accesses.c). Then
 * predict_find() checks pairs of accesses (candidate_pairs.c).
 *
 * Events of a thread are numbered. Its first n events are those before number n. Accesses between
 * two events get the number of the next one.
 *
 * One thread at a time may use a struct predict. Functions that return int return 0 or -ENOMEM. At
 * the memory limit no more events are kept: reports concern the part before.
 */
#ifndef ADEPT_ANALYZE_PREDICT_PREDICT_H
#define ADEPT_ANALYZE_PREDICT_PREDICT_H

#include <stdbool.h>

#include "libdep/analyze/races/detector.h"

struct predict;

/** struct predict_sync - a synchronisation object; owned by the caller, zeroed: never released */
struct predict_sync {
	struct predict_need {
		u64 need;	/* by thread: an acquire needs its first @need events */
		u64 seen;	/* the thread's last acquire is before this event */
		u32 place;
	} *v;
	u32 n;
};

/** predict_create() - @limit in bytes; 0: none */
int predict_create(struct predict **out, u64 limit);
void predict_free(struct predict *p);

/** predict_again() - begin the second pass */
void predict_again(struct predict *p);
/** predict_stop() - ignore all later events, which are not known well enough */
void predict_stop(struct predict *p);
/** predict_stopped() - were events ignored? */
bool predict_stopped(const struct predict *p);

/*
 * Events. @place is a number by which the caller identifies a place in the code; a witness returns
 * it. Event A needs event B if each order of events that contains A has B before it.
 */

/**
 * predict_thread() - begin @thread
 *
 * Its events need all previous events of @parent, unless that is RACE_NO_THREAD.
 */
int predict_thread(struct predict *p, u32 thread, u32 parent, u32 place);
/** predict_acquire() - later events of @thread need the events released to @s */
int predict_acquire(struct predict *p, u32 thread, struct predict_sync *s, u32 place);
int predict_release(struct predict *p, u32 thread, struct predict_sync *s, u32 place);
void predict_sync_free(struct predict_sync *s);
/** predict_after() - later events of @thread need all previous events of @other */
int predict_after(struct predict *p, u32 thread, u32 other, u32 place);
/** predict_needs() - events of @thread from @since on need all previous events of @other */
int predict_needs(struct predict *p, u32 thread, u64 since, u32 other);
u64 predict_now(const struct predict *p, u32 thread);
/** predict_interval() - begin an interval, which race_access.epoch identifies in reports */
int predict_interval(struct predict *p, u32 thread, u64 epoch);
/** predict_since() - number of the first event of the interval @epoch; 0: not known */
u64 predict_since(const struct predict *p, u32 thread, u64 epoch);

/** predict_lock() - @thread locks @lock, unless it holds it already */
int predict_lock(struct predict *p, u32 thread, u64 lock, bool reading, u32 place);
/** predict_unlock() - @thread unlocks @lock, if it holds it */
int predict_unlock(struct predict *p, u32 thread, u64 lock, u32 place);
/** predict_tried() - an attempt to lock failed: the lock's sections must keep their order */
int predict_tried(struct predict *p, u64 lock);

/** struct predict_access - an access to memory; @flags as in race_access() */
struct predict_access {
	u64 pc, address, size;
	u32 flags, place;
};

/** predict_access() - access memory; @known: skip pages that were not accessed before */
int predict_access(struct predict *p, u32 thread, const struct predict_access *a, bool known);
/** predict_forget() - the memory is reused: later accesses do not race with earlier ones */
void predict_forget(struct predict *p, u64 address, u64 size);

/* Results. */

enum predict_end {
	PREDICT_ACCESS,		/* the step ends before the thread's racing access */
	PREDICT_BEFORE,		/* it ends before @place, which must wait for another thread */
	PREDICT_AFTER,		/* it ends after @place: no later event of the thread is needed */
};

struct predict_section {
	u64 lock;
	u32 place;
	bool reading;
};

#define PREDICT_REPORTS		4096u	/* limit for one predict_find() */
#define PREDICT_STEPS		16u
#define PREDICT_SECTIONS	4u	/* sections kept for a step, the last ones */

/** struct predict_step - one thread runs for a while */
struct predict_step {
	u32 thread, place;
	enum predict_end end;
	u64 to;			/* at the end of the step the thread's first @to events have run */
	/* number of critical sections that it begins, the last ones in @section */
	u64 nsections;
	struct predict_section section[PREDICT_SECTIONS];
};

/** struct predict_race - two accesses and the witness: an order of events that leads to both */
struct predict_race {
	struct race_found found;
	u64 number[2];		/* event numbers of the accesses */
	const struct predict_step *step;
	u32 nsteps;
	u64 more_steps;		/* number of steps beyond PREDICT_STEPS */
};

/**
 * predict_find() - check candidate pairs
 * @report: called once for each pair of places (pc and flags)
 * @work: limit, in units of about 10 ns; 0: none
 *
 * Return: 0; 1 if not all pairs were checked, because of @work or PREDICT_REPORTS; or -ENOMEM.
 */
int predict_find(struct predict *p, u64 work,
		 int (*report)(void *arg, const struct predict_race *r), void *arg);

struct predict_stats {
	u64 bytes, shared, candidates, accesses, sections, edges;
};

void predict_get_stats(const struct predict *p, struct predict_stats *out);

#endif
