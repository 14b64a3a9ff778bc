/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The race detector: finds pairs of accesses to the same byte that are not ordered.
 *
 * The caller passes on what the threads of a program did, in one sequence that agrees with the
 * order of each thread and of each synchronisation object: thread starts and ends, releases,
 * acquires and accesses. The detector reports two accesses that have a byte in common if one of
 * them writes, they are not both atomic, and neither happened before the other.
 *
 * The order is "happens before", by vector clocks. Accesses are kept by epochs as in FastTrack
 * (Flanagan and Freund, PLDI 2009), as many of them as there are readers or places that matter.
 * After a reported race between a write and a read that saw it, the read is ordered after the
 * write, as in SHB (Mathur, Kini and Viswanathan, "What Happens-After the First Race?", OOPSLA
 * 2018). So each report, and not only the first one, can happen in an order of the same events that
 * the program allows.
 *
 * Guarantees, for each byte and without any limit of time:
 *
 * - Each reported pair is unordered, except as described at race_thread_join().
 * - An access that races with earlier ones is reported with at least one of them: the last one of
 *   each chain of ordered accesses. Within an interval of a thread, that is one of the first
 *   race_options.places places that access the byte.
 * - Once a byte has raced, all places that access it are kept, each with its last access in each
 *   chain, and every pair of places that races is reported. With RACE_KEEP_ALL this holds from the
 *   beginning. (If more than 256 accesses to a byte are kept, places are dropped that a later
 *   access is ordered after.)
 * - With SHB, a read that saw an unordered write is ordered after all that the writing thread did
 *   up to that write. If the write was repeated at the same place within its interval, or other
 *   bytes of its shadow word were written later in the interval, the read is ordered after the last
 *   of these. Accesses that the writing thread made in that interval after the write and before the
 *   read are compared by the first execution of their place in the interval. So a race can be
 *   missed (never invented) in a loop that another race interferes with.
 *
 * While only one thread exists and all earlier ones have been joined, nothing is recorded:
 * everything that may follow is ordered after it.
 *
 * One thread at a time may use a detector. Functions that return int return 0, or an error:
 * - -EINVAL: no such thread, or invalid flags; nothing was changed;
 * - -ENOMEM: no memory, or race_options.limit is reached;
 * - -EOVERFLOW: a thread has synchronised 2^32 times.
 *
 * The latter two are final: all later calls return the same. Races reported before are valid.
 */
#ifndef ADEPT_ANALYZE_RACES_DETECTOR_H
#define ADEPT_ANALYZE_RACES_DETECTOR_H

#include "dep/recover.h"
#include "libdep/recover/filter/page_accesses.h"
#include "vector_clock.h"

#define RACE_READ	0x01u
#define RACE_WRITE	0x02u	/* with RACE_READ: read-modify-write */
#define RACE_ATOMIC	0x04u
#define RACE_INSIDE	0x100u	/* two such accesses never race; nor do two atomic ones */
/* These describe the access. RACE_FREE implies RACE_WRITE. */
#define RACE_FREE	0x08u
#define RACE_SYSCALL	0x10u
#define RACE_USER1	0x20u	/* for the caller: accesses that differ in these.. */
#define RACE_USER2	0x40u	/* ..count as different places */
#define RACE_USER3	0x80u

#define RACE_NO_THREAD	0xffffffffu
#define RACE_THREADS	65535u

struct race_detector;

/**
 * struct race_sync - the clock of a synchronisation object
 *
 * Owned by the caller. All zero: never released. Call race_sync_free() before dropping it.
 */
struct race_sync {
	struct race_clock clock;
};

/**
 * struct race_access - one side of a race
 * @thread: index that race_thread_begin() gave
 * @epoch: of the thread; see race_epoch(). For the prior access: the first execution of its place
 *	in its interval. The access itself is in the same interval and not earlier.
 */
struct race_access {
	u32 thread;
	u32 flags;
	u64 epoch;
	u64 pc;
};

struct race_found {
	struct race_access prior, current;
	u64 address;		/* of the bytes in common, or of some of them */
	u32 size;
};

/**
 * struct race_ops - callbacks from race_access() and race_forget(); they must not call the detector
 * @forgotten: NULL or called for forgotten bytes that a living thread has accessed, other than to
 *	free them, without a release since
 */
struct race_ops {
	void (*report)(void *arg, const struct race_found *found);
	void (*forgotten)(void *arg, u64 address, u32 size);
	void *arg;
};

#define RACE_KEEP_ALL		1u	/* keep all places of all bytes, not only after a race */
#define RACE_HB_ONLY		2u	/* no SHB */
#define RACE_ONLY_WATCHED	4u	/* ignore all bytes that were not passed to race_watch() */
/* With RACE_HB_ONLY: only bytes and threads of reports are exact; places and flags are not. */
#define RACE_BYTES		8u

struct race_options {
	u32 places;		/* kept for an interval; 0: 1 */
	u32 mode;		/* RACE_KEEP_ALL and the like */
	u64 limit;		/* limit of allocated bytes; 0: none */
};

/** struct race_stats - bytes in use, numbers of objects in use, and counts of events */
struct race_stats {
	u64 bytes, shadow_bytes, state_bytes, clock_bytes;
	u64 pages, states, sites;
	u64 slow;		/* accesses that the lookup cache did not answer */
	u64 edges;		/* SHB edges */
	u64 collections;
	/* accesses dropped from a history of more than 40,000 unordered ones */
	u64 dropped;
};

/** struct race_ref - one access of a batch */
struct race_ref {
	u64 pc, address;
	u32 size, flags;
};

/** race_detector_create() - @options: NULL for the defaults */
int race_detector_create(struct race_detector **out, const struct race_ops *ops,
			 const struct race_options *options);
/** race_detector_free() - @d: NULL does nothing; free the caller's struct race_sync before */
void race_detector_free(struct race_detector *d);

/**
 * race_thread_begin() - begin a thread that is ordered after all that @parent did until now
 * @parent: RACE_NO_THREAD: not known. Then the thread is ordered after what was done while only one
 *	thread existed, and after nothing else.
 *
 * Return: 0, also -EINVAL, or -ENOSPC after RACE_THREADS threads.
 */
int race_thread_begin(struct race_detector *d, u32 parent, u32 *thread);
/** race_thread_end() - the thread does nothing more; it can still be joined */
void race_thread_end(struct race_detector *d, u32 thread);
/**
 * race_thread_join() - order @joiner after the end of @joined
 *
 * If @joined is joined a second time, @joiner is ordered after what @joined did, but not after what
 * @joined was ordered after. If @joined has not ended, @joiner is ordered after what it did until
 * now.
 */
int race_thread_join(struct race_detector *d, u32 joiner, u32 joined);

/** race_acquire() - order what follows after all releases of @s */
int race_acquire(struct race_detector *d, u32 thread, const struct race_sync *s);
/** race_release() - order later acquires of @s after this and all earlier releases of it */
int race_release(struct race_detector *d, u32 thread, struct race_sync *s);
/** race_release_store() - order later acquires of @s after this release only */
int race_release_store(struct race_detector *d, u32 thread, struct race_sync *s);
/** race_sync_free() - forget the releases of @s, which can be used again */
void race_sync_free(struct race_detector *d, struct race_sync *s);

/** race_access() - access @size bytes at @address, up to the end of the address space */
int race_access(struct race_detector *d, u32 thread, u64 pc, u64 address, u32 size, u32 flags);
/**
 * race_access_known() - access those parts of the range that were accessed before
 *
 * For memory that goes away: bytes that were never accessed stay so. @size has no limit.
 */
int race_access_known(struct race_detector *d, u32 thread, u64 pc, u64 address, u64 size,
		      u32 flags);
/**
 * race_each_known() - call @f for pieces of the range that include all bytes accessed before
 *
 * The pieces are whole pages, cut to the range. Ends when @f does not return 0.
 */
int race_each_known(struct race_detector *d, u64 address, u64 size,
		    int (*f)(void *arg, u64 address, u64 size), void *arg);
/** race_accesses() - accesses of one thread, in order */
int race_accesses(struct race_detector *d, u32 thread, const struct race_ref *ref, size_t n);

/**
 * race_access_page() - all accesses of @j, merged by the filter
 * @flags: RACE_INSIDE, or 0
 */
int race_access_page(struct race_detector *d, u32 thread, const struct dep_page_accesses *j,
		     u32 flags);

/** race_fetch_page() - prefetch the shadow memory for race_access_page() */
void race_fetch_page(struct race_detector *d, const struct dep_page_accesses *j);

/** race_forget() - the memory is new: forget all accesses to it */
int race_forget(struct race_detector *d, u64 address, u64 size);
/**
 * race_forget_by() - race_forget(), but no race_ops.forgotten for @thread's own accesses
 *
 * The filter of @thread does not drop its later accesses to the memory.
 */
int race_forget_by(struct race_detector *d, u32 thread, u64 address, u64 size);
/**
 * race_watch() - keep all places of these bytes; with RACE_ONLY_WATCHED ignore all others
 *
 * race_forget() does not end that. From then on it frees no memory.
 */
int race_watch(struct race_detector *d, u64 address, u64 size);

/**
 * race_epoch() - current epoch of @thread; 0: no such thread
 *
 * It never decreases. Bits 16 to 47 are the number of the interval. A new interval begins with each
 * release, and with each acquire that changes the thread's clock.
 */
u64 race_epoch(const struct race_detector *d, u32 thread);

void race_get_stats(const struct race_detector *d, struct race_stats *out);

#endif
