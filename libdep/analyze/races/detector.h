/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The race detector: which accesses to memory are not ordered by what happened before?
 *
 * It is told what the threads of a program did, in one order that agrees with the order
 * of each thread and of each synchronisation object: threads that begin and end,
 * releases and acquires, and accesses.  It reports pairs of accesses of which one
 * writes, that are not both atomic, have a byte in common, and are not ordered.
 *
 * The order is "happens before", by vector clocks; accesses are remembered by epochs as
 * in FastTrack (Flanagan and Freund, PLDI 2009), with as many of them as there are
 * readers or places that matter.  After it reported a race between a write and a read
 * that saw it, the read is ordered after the write, as in SHB (Mathur, Kini and
 * Viswanathan, "What Happens-After the First Race?", OOPSLA 2018): each report, and not
 * only the first one, can happen in an order of the same events that the program allows.
 *
 * What is guaranteed, for each byte and without any limit of time:
 *
 * - Each reported pair is unordered, except for what race_thread_join() says.
 * - An access that races with any earlier ones is reported with at least one of them:
 *   the last in each chain of ordered ones.  In an interval of a thread between two
 *   synchronisations, that is the first race_options.places of those that access the byte.
 * - Once a byte raced, all places that access it are kept, each with its last access in
 *   each chain, and every pair of places that races is reported; with RACE_KEEP_ALL from
 *   the beginning.  (If more than 256 accesses to a byte are unordered or of different
 *   places, places are given up that a later access is ordered after.)
 * - With SHB, a read that saw an unordered write is ordered after everything that its
 *   thread did up to that write; if the write was repeated at the same place within its
 *   interval, or other bytes of its granule of 8 were written later, up to the last of
 *   these.  What its thread did in that interval before the read but after the write is
 *   compared by the first execution of its place in the interval: so a race can be
 *   missed (never invented) in a loop that another race interferes with.
 *
 * While only one thread exists, and all that ever existed have been joined, nothing is
 * recorded: all that may come is ordered after it.
 *
 * A detector is used by one thread at a time.  Functions that return int return 0, or
 * -EINVAL for a thread that is not there or flags that make no sense, which changes
 * nothing; or -ENOMEM (also at race_options.limit), or -EOVERFLOW after 2^32
 * synchronisations of a thread.  The latter two are final: everything returns it from
 * then on, and what was reported is true.
 */
#ifndef ADEPT_ANALYZE_RACES_DETECTOR_H
#define ADEPT_ANALYZE_RACES_DETECTOR_H

#include "dep/recover.h"
#include "vector_clock.h"

#define RACE_READ	0x01u
#define RACE_WRITE	0x02u	/* with RACE_READ: read-modify-write */
#define RACE_ATOMIC	0x04u
#define RACE_INSIDE	0x100u	/* two of these never race, like two atomic ones */
/* These only say what it was.  RACE_FREE is a write. */
#define RACE_FREE	0x08u
#define RACE_SYSCALL	0x10u
#define RACE_USER1	0x20u	/* for the caller: two accesses that differ in it.. */
#define RACE_USER2	0x40u	/* ..are of two places */
#define RACE_USER3	0x80u

#define RACE_NO_THREAD	0xffffffffu
#define RACE_THREADS	65535u

struct race_detector;

/**
 * struct race_sync - the clock of a synchronisation object
 *
 * The caller's; all zero is one that was never released.  race_sync_free() before it is
 * forgotten.
 */
struct race_sync {
	struct race_clock clock;
};

/**
 * struct race_access - one side of a race
 * @thread: index that race_thread_begin() gave
 * @epoch: of the thread; see race_epoch().  Of the prior access, when its place was
 *	first executed in its interval: the access is not older, and of that interval.
 */
struct race_access {
	u32 thread;
	u32 flags;
	u64 epoch;
	u64 pc;
};

struct race_found {
	struct race_access prior, current;
	u64 address;		/* of the bytes they have in common, or some of them */
	u32 size;
};

/**
 * struct race_ops - what is called within race_access() and race_forget(); it must not call the
 * detector
 * @forgotten: may be NULL; of bytes that are forgotten though a thread that lives has accessed
 *	them, other than to free them, and released nothing since
 */
struct race_ops {
	void (*report)(void *arg, const struct race_found *found);
	void (*forgotten)(void *arg, u64 address, u32 size);
	void *arg;
};

#define RACE_KEEP_ALL		1u	/* all places of all bytes, not only after a race */
#define RACE_HB_ONLY		2u	/* no SHB */
#define RACE_ONLY_WATCHED	4u	/* only what race_watch() was told */
/* With RACE_HB_ONLY: only bytes and threads of races are told; places and flags are any. */
#define RACE_BYTES		8u

struct race_options {
	u32 places;		/* in an interval; 0 = 1 */
	u32 mode;		/* RACE_KEEP_ALL.. */
	u64 limit;		/* bytes that it may allocate; 0 = any */
};

/** struct race_stats - bytes in use, numbers of things there are, and of what happened */
struct race_stats {
	u64 bytes, shadow_bytes, state_bytes, clock_bytes;
	u64 pages, states, sites;
	u64 slow;		/* accesses that had to be thought about */
	u64 edges;		/* of SHB */
	u64 collections;
	u64 dropped;		/* accesses to a byte beyond 40,000 unordered ones */
};

/** struct race_ref - one access of a batch */
struct race_ref {
	u64 pc, address;
	u32 size, flags;
};

/** race_detector_create() - @options may be NULL */
int race_detector_create(struct race_detector **out, const struct race_ops *ops,
			 const struct race_options *options);
/** race_detector_free() - @d may be NULL; the caller's struct race_sync must be freed before */
void race_detector_free(struct race_detector *d);

/**
 * race_thread_begin() - a thread, ordered after what @parent did up to now
 * @parent: RACE_NO_THREAD: what is not known.  It is then ordered after what was done
 *	while there was only one thread, and after nothing else.
 *
 * Return: 0, also -EINVAL, or -ENOSPC after RACE_THREADS threads.
 */
int race_thread_begin(struct race_detector *d, u32 parent, u32 *thread);
/** race_thread_end() - it does nothing more, but may be joined */
void race_thread_end(struct race_detector *d, u32 thread);
/**
 * race_thread_join() - @joiner goes on after @joined has ended
 *
 * Should it be joined twice, the second one is ordered after what it did, but not
 * after what others did that it was ordered after.  If it has not ended, it is ordered
 * after what it did so far.
 */
int race_thread_join(struct race_detector *d, u32 joiner, u32 joined);

/** race_acquire() - what follows is ordered after what was released to @s */
int race_acquire(struct race_detector *d, u32 thread, const struct race_sync *s);
/** race_release() - who acquires @s is ordered after this, too */
int race_release(struct race_detector *d, u32 thread, struct race_sync *s);
/** race_release_store() - who acquires @s is ordered after this, and nothing else */
int race_release_store(struct race_detector *d, u32 thread, struct race_sync *s);
/** race_sync_free() - forget what was released; it can be used again */
void race_sync_free(struct race_detector *d, struct race_sync *s);

/** race_access() - @size bytes at @address, which wrap nowhere: what does is cut off */
int race_access(struct race_detector *d, u32 thread, u64 pc, u64 address, u32 size, u32 flags);
/**
 * race_access_known() - the same of as much memory as one likes, where it was accessed before
 *
 * What was not accessed remains so: this is for memory that goes away.
 */
int race_access_known(struct race_detector *d, u32 thread, u64 pc, u64 address, u64 size,
		      u32 flags);
/**
 * race_each_known() - call @f for pieces of that memory which were accessed before, with more
 * around them, until it does not return 0
 */
int race_each_known(struct race_detector *d, u64 address, u64 size,
		    int (*f)(void *arg, u64 address, u64 size), void *arg);
/** race_accesses() - many of one thread, in their order */
int race_accesses(struct race_detector *d, u32 thread, const struct race_ref *ref, size_t n);

/**
 * race_access_page() - all accesses that @j tells of
 * @flags: RACE_INSIDE, or 0
 */
int race_access_page(struct race_detector *d, u32 thread, const struct dep_page_accesses *j,
		     u32 flags);

/** race_fetch_page() - that will come soon; which only makes it faster */
void race_fetch_page(struct race_detector *d, const struct dep_page_accesses *j);

/** race_forget() - the memory is new: nothing that was done to it before counts */
int race_forget(struct race_detector *d, u64 address, u64 size);
/** race_forget_by() - the same; what @thread itself does to it again will be told again */
int race_forget_by(struct race_detector *d, u32 thread, u64 address, u64 size);
/**
 * race_watch() - keep all places of these bytes; the only ones with RACE_ONLY_WATCHED
 *
 * They stay watched when they are forgotten; from then on race_forget() frees no memory.
 */
int race_watch(struct race_detector *d, u64 address, u64 size);

/**
 * race_epoch() - now, by the clock of @thread; 0 if there is no such thread
 *
 * It never runs backwards.  Bits 16 to 47 number its intervals: a new one begins with
 * each release and each acquire that it learned something by.
 */
u64 race_epoch(const struct race_detector *d, u32 thread);

void race_get_stats(const struct race_detector *d, struct race_stats *out);

#endif
