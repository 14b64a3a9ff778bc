/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Races that did not happen, but can in another order of the same events.
 *
 * Found are sync-preserving races (Mathur, Pavlogiannis and Viswanathan, "Optimal Prediction of
 * Synchronization-Preserving Races", POPL 2021): two accesses to the same byte, one a write, that
 * can be next to each other in an order of some of the events in which
 *
 * - each thread does a beginning of what it did,
 * - each read gets the value of the same write, so all threads go the way they went,
 * - of two critical sections of a lock that are both in it, the same one comes first, and
 * - all other synchronisation comes after what it came after.
 *
 * and of other pairs, those where this holds but for the sections that the two accesses are in:
 * these may come after others that came after them (as in Shi, Mathur and Pavlogiannis,
 * "Optimistic Prediction of Synchronization-Reversal Data Races", ICSE 2024, of which it is a
 * part).
 *
 * So none is reported that cannot be.  For two accesses the smallest such set of events is looked
 * at, the ideal: it has what stands before them in their threads, with each event those that it
 * needs, and of two conflicting sections of a lock the end of the earlier one.  There is a race
 * if it has neither access; the ideal in the order of the recording is the proof.
 *
 * All is told twice, in one order that agrees with that of each thread, lock and synchronisation:
 * the first time it is found out which memory can be in such a race at all (candidates.c), the
 * second time what happens there is kept (trace.c).  predict_find() (candidate_pairs.c) looks at
 * pairs then.
 *
 * A thread's events are numbered.  "Its first n" are those before the one with number n; what is
 * between two of them is of no interest to others.
 *
 * A struct predict is used by one thread at a time.  Functions that return int return 0 or -ENOMEM.
 * When the limit of memory has been reached nothing more is kept: what is found is of the part
 * before that.
 */
#ifndef ADEPT_ANALYZE_PREDICT_PREDICT_H
#define ADEPT_ANALYZE_PREDICT_PREDICT_H

#include <stdbool.h>

#include "libdep/analyze/races/detector.h"

struct predict;

/** struct predict_sync - what who acquires an object needs, zeroed: nothing; the caller's */
struct predict_sync {
	struct predict_need {
		u64 need;	/* by thread: its first so many.. */
		u64 seen;	/* ..which may have acquired it, up to there */
		u32 place;
	} *v;
	u32 n;
};

/** predict_create() - @limit in bytes; 0: any */
int predict_create(struct predict **out, u64 limit);
void predict_free(struct predict *p);

/** predict_again() - the first time is over; from now on all is told again */
void predict_again(struct predict *p);
/** predict_stop() - what comes is not known well enough; what came is looked at */
void predict_stop(struct predict *p);
/** predict_stopped() - there was something after the end of what is looked at */
bool predict_stopped(const struct predict *p);

/*
 * What happens.  @place is a number of the caller's that is given back with a witness.
 */

/** predict_thread() - @thread begins; it needs what @parent (RACE_NO_THREAD: nobody) did so far */
int predict_thread(struct predict *p, u32 thread, u32 parent, u32 place);
/** predict_acquire() - what comes needs what was released to @s; @place: of the acquiring */
int predict_acquire(struct predict *p, u32 thread, struct predict_sync *s, u32 place);
int predict_release(struct predict *p, u32 thread, struct predict_sync *s, u32 place);
void predict_sync_free(struct predict_sync *s);
/** predict_after() - what comes needs all that @other did so far */
int predict_after(struct predict *p, u32 thread, u32 other, u32 place);
/** predict_needs() - all from @since (predict_now()) on needs all that @other did so far */
int predict_needs(struct predict *p, u32 thread, u64 since, u32 other);
u64 predict_now(const struct predict *p, u32 thread);
/** predict_interval() - the caller's number of what comes, given back as race_access.epoch */
int predict_interval(struct predict *p, u32 thread, u64 epoch);
/** predict_since() - when that began; 0 if it is not known */
u64 predict_since(const struct predict *p, u32 thread, u64 epoch);

/** predict_lock() - @thread holds @lock from now on; not if it does already */
int predict_lock(struct predict *p, u32 thread, u64 lock, bool reading, u32 place);
/** predict_unlock() - not any more; nothing if it did not */
int predict_unlock(struct predict *p, u32 thread, u64 lock, u32 place);
/** predict_tried() - somebody found it held: its sections stay in their order */
int predict_tried(struct predict *p, u64 lock);

/**
 * predict_access() - @flags as of race_access()
 * @known: only memory that was accessed before counts
 */
int predict_access(struct predict *p, u32 thread, u64 pc, u64 address, u64 size, u32 flags,
		   u32 place, bool known);
/** predict_forget() - the memory is new */
void predict_forget(struct predict *p, u64 address, u64 size);

/* What is found. */

enum predict_end {
	PREDICT_ACCESS,		/* the step ends in front of the thread's access.. */
	PREDICT_BEFORE,		/* ..in front of @place, which has to wait for another thread.. */
	PREDICT_AFTER,		/* ..after @place, since no more is needed */
};

struct predict_section {
	u64 lock;
	u32 place;
	bool reading;
};

#define PREDICT_REPORTS		4096u	/* of one predict_find() at most */
#define PREDICT_STEPS		16u
#define PREDICT_SECTIONS	4u	/* of a step, the last ones */

/** struct predict_step - a thread goes on, up to where */
struct predict_step {
	u32 thread, place;
	enum predict_end end;
	u64 to;			/* its first so many have been executed then */
	u64 nsections;		/* critical sections that it begins; the last of them: */
	struct predict_section section[PREDICT_SECTIONS];
};

/** struct predict_race - the accesses, and the order that leads to both of them */
struct predict_race {
	struct race_found found;
	u64 number[2];		/* of the accesses in their threads */
	const struct predict_step *step;
	u32 nsteps;
	u64 more_steps;		/* beyond PREDICT_STEPS */
};

/**
 * predict_find() - look for races
 * @report: is given each pair of places (pc and flags) once, of one process
 * @work: how much may be done, in steps of some 10 ns; 0: as much as it takes
 *
 * Return: 0, 1 if not all was looked at, as with PREDICT_REPORTS reports, or -ENOMEM.
 */
int predict_find(struct predict *p, u64 work,
		 int (*report)(void *arg, const struct predict_race *r), void *arg);

struct predict_stats {
	u64 bytes, shared, candidates, accesses, sections, edges;
};

void predict_get_stats(const struct predict *p, struct predict_stats *out);

#endif
