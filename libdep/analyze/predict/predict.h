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
 * So every reported race can happen. The sync-preserving closure of two accesses is the smallest
 * set of events that contains
 *
 * - the events that precede either access in its thread,
 * - for each event, the events that it needs, and
 * - for two conflicting critical sections of a lock, the end of the earlier one.
 *
 * If neither access is in their closure, they race: running the events of the closure in recorded
 * order leads to both accesses.
 *
 * The caller passes in all events twice, in an order that agrees with the order of each thread,
 * lock and synchronisation object. The first pass finds the memory words that can have such a race
 * (candidates.c). The second pass stores the events and the accesses to these words (trace.c,
 * accesses.c). Then predict_find() checks pairs of accesses (candidate_pairs.c).
 *
 * The events of a thread are numbered from 0; its first n events are those with numbers below n. An
 * access between two events has the number of the later event.
 *
 * One thread at a time may use a struct predict. Functions that return int return 0 or -ENOMEM. At
 * the memory limit later events are ignored, and reports concern the events before.
 */
#ifndef ADEPT_ANALYZE_PREDICT_PREDICT_H
#define ADEPT_ANALYZE_PREDICT_PREDICT_H

#include <stdbool.h>

#include "libdep/analyze/races/detector.h"

struct predict;

/** struct predict_sync - a synchronisation object; owned by the caller; zeroed: never released */
struct predict_sync {
	struct predict_need {
		/* number of the other thread's events that must come before an acquire */
		u64 need;
		u64 seen;	/* number of that thread's events up to its last acquire; 0: none */
		u32 place;
	} *v;
	u32 n;
};

/** predict_create() - start the first pass; @limit: of memory, in bytes; 0: none */
int predict_create(struct predict **out, u64 limit);
void predict_free(struct predict *p);

/** predict_again() - begin the second pass */
void predict_again(struct predict *p);
/** predict_stop() - ignore all later events, because their order is not known well enough */
void predict_stop(struct predict *p);
/** predict_stopped() - were events ignored? */
bool predict_stopped(const struct predict *p);

/*
 * Events. @place is the caller's number of a code place, which is reported in steps of a witness.
 * Event A needs event B if in each order that contains A, B comes before A.
 */

/**
 * predict_thread() - begin @thread
 *
 * The events of @thread need all previous events of @parent, unless @parent is RACE_NO_THREAD.
 */
int predict_thread(struct predict *p, u32 thread, u32 parent, u32 place);
/** predict_acquire() - later events of @thread need all events released to @s so far */
int predict_acquire(struct predict *p, u32 thread, struct predict_sync *s, u32 place);
int predict_release(struct predict *p, u32 thread, struct predict_sync *s, u32 place);
void predict_sync_free(struct predict_sync *s);
/** predict_after() - later events of @thread need all previous events of @other */
int predict_after(struct predict *p, u32 thread, u32 other, u32 place);
/**
 * predict_needs() - the events of @thread from number @since on, also those already passed in, need
 * all previous events of @other
 */
int predict_needs(struct predict *p, u32 thread, u64 since, u32 other);
u64 predict_now(const struct predict *p, u32 thread);
/** predict_interval() - begin an interval of @thread; reports have @epoch in race_access.epoch */
int predict_interval(struct predict *p, u32 thread, u64 epoch);
/** predict_since() - number of the first event of the interval with @epoch; 0: unknown */
u64 predict_since(const struct predict *p, u32 thread, u64 epoch);

/** predict_lock() - @thread locks @lock; ignored if @thread holds it already */
int predict_lock(struct predict *p, u32 thread, u64 lock, bool reading, u32 place);
/** predict_unlock() - @thread unlocks @lock; ignored if @thread does not hold it */
int predict_unlock(struct predict *p, u32 thread, u64 lock, u32 place);
/**
 * predict_tried() - an attempt to take @lock failed: its critical sections must keep their order
 */
int predict_tried(struct predict *p, u64 lock);

/** struct predict_access - an access to memory; @flags: RACE_* as in race_access() */
struct predict_access {
	u64 pc, address, size;
	u32 flags, place;
};

/** predict_access() - @thread accesses memory; @known: skip pages without an access before */
int predict_access(struct predict *p, u32 thread, const struct predict_access *a, bool known);
/** predict_forget() - the memory is reused: later accesses do not race with earlier accesses */
void predict_forget(struct predict *p, u64 address, u64 size);


enum predict_end {
	PREDICT_ACCESS,		/* the step ends before the thread's racing access */
	/* the step ends before @place, which must wait for another thread */
	PREDICT_BEFORE,
	/* the step ends after @place: no later event of the thread is needed */
	PREDICT_AFTER,
};

struct predict_section {
	u64 lock;
	u32 place;
	bool reading;
};

#define PREDICT_REPORTS		4096u	/* maximum number of reports of one predict_find() */
#define PREDICT_STEPS		16u
#define PREDICT_SECTIONS	4u	/* maximum number of sections listed in a step */

/** struct predict_step - one step of a witness: only @thread runs */
struct predict_step {
	u32 thread, place;
	enum predict_end end;
	u64 to;			/* the step ends when the thread has run its first @to events */
	/* number of critical sections that the step begins; @section has the last ones */
	u64 nsections;
	struct predict_section section[PREDICT_SECTIONS];
};

/** struct predict_race - two accesses, and a witness: an order of events that leads to both */
struct predict_race {
	struct race_found found;
	u64 number[2];		/* event numbers of the two accesses in their threads */
	const struct predict_step *step;
	u32 nsteps;
	u64 more_steps;		/* number of steps that did not fit into @step */
};

/**
 * predict_find() - check pairs of accesses to candidate words
 * @report: called once for each pair of code locations (pc and flags)
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
