/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The race detector: finds pairs of accesses to the same byte that are not ordered.
 *
 * The caller reports what the threads of a program did, in one sequence that agrees with the order
 * of each thread and of each synchronisation object: thread starts and ends, releases, acquires and
 * accesses. The detector reports two accesses that have a byte in common if at least one of them
 * writes, they are not both atomic, and neither happened before the other.
 *
 * The order is "happens before", by vector clocks. Accesses are kept by epochs as in FastTrack
 * (Flanagan and Freund, PLDI 2009), but several for a byte if several readers or code locations
 * matter. After a reported race between a write and a read of its value, the read is ordered after
 * the write, as in SHB (schedulable happens-before: Mathur, Kini and Viswanathan, "What
 * Happens-After the First Race?", OOPSLA 2018). So each report, and not only the first one, can
 * happen in an order of the same events that the program allows.
 *
 * A place is a code location: a pc with the flags of its access.
 *
 * Guarantees, for each byte, however far apart the accesses are in time:
 *
 * - Each reported pair is unordered, except as described at race_thread_join().
 * - An access that races with earlier ones is reported with at least one of them: the last one of
 *   each chain of ordered accesses. Within an interval of a thread, that is one of the first
 *   race_options.places places that access the byte.
 * - Once a byte has raced, all places that access it are kept, each with its last access in each
 *   chain, and every pair of places that races is reported. With RACE_KEEP_ALL this holds from the
 *   beginning. (If more than 256 accesses to a byte are kept, places are dropped that a later
 *   access is ordered after.)
 * - With SHB, a read of the value of an unordered write is ordered after all that the writing
 *   thread did up to that write. If the write was repeated at the same place within its interval,
 *   or other bytes of its shadow word were written later in the interval, the read is ordered after
 *   the last of these writes. Accesses that the writing thread made in that interval after the
 *   write and before the read are compared by the first execution of their place in the interval.
 *   So a race can be missed (never invented) in a loop that another race interferes with.
 *
 * While only one thread exists and all earlier threads have been joined, nothing is recorded, since
 * every later access is ordered after the present ones.
 *
 * One thread at a time may use a detector. Functions that return int return 0, or an error:
 * - -EINVAL: no such thread, or invalid flags; nothing was changed;
 * - -ENOMEM: no memory, or race_options.limit is reached;
 * - -EOVERFLOW: a thread has synchronised 2^32 times.
 *
 * -ENOMEM and -EOVERFLOW are final: all later calls return the same error. Races reported before
 * are valid.
 */
#ifndef ADEPT_ANALYZE_RACES_DETECTOR_H
#define ADEPT_ANALYZE_RACES_DETECTOR_H

#include "dep/recover.h"
#include "libdep/recover/filter/page_accesses.h"
#include "vector_clock.h"

#define RACE_READ	0x01u
#define RACE_WRITE	0x02u	/* with RACE_READ: read-modify-write */
#define RACE_ATOMIC	0x04u
#define RACE_INSIDE	0x100u	/* two accesses with this flag never race, nor do two atomic ones */
/* RACE_FREE: memory is freed, which implies RACE_WRITE; RACE_SYSCALL: by the kernel. */
#define RACE_FREE	0x08u
#define RACE_SYSCALL	0x10u
/* The caller's flags: accesses that differ in them count as different places. */
#define RACE_USER1	0x20u
#define RACE_USER2	0x40u
#define RACE_USER3	0x80u

#define RACE_NO_THREAD	0xffffffffu
#define RACE_THREADS	65535u

struct race_detector;

/**
 * struct race_sync - the clock of a synchronisation object
 *
 * Owned by the caller; zeroed: never released. Call race_sync_free() before freeing its memory.
 */
struct race_sync {
	struct race_clock clock;
};

/**
 * struct race_access - one access of a race
 * @thread: index that race_thread_begin() returned
 * @epoch: epoch of the thread at the access, see race_epoch(). For the prior access: at the first
 *	execution of its place in its interval; the access is in the same interval, at that time
 *	or later.
 */
struct race_access {
	u32 thread;
	u32 flags;
	u64 epoch;
	u64 pc;
};

struct race_found {
	struct race_access prior, current;
	u64 address;		/* first address of the racy bytes of this report */
	u32 size;
};

/**
 * struct race_ops - callbacks of race_access() and race_forget(); they must not call the detector
 * @forgotten: called for each byte given to race_forget() that a living thread has accessed since
 *	that thread's last release, other than to free it; NULL: not called
 */
struct race_ops {
	void (*report)(void *arg, const struct race_found *found);
	void (*forgotten)(void *arg, u64 address, u32 size);
	void *arg;
};

/* keep all places that access a byte, even before it has raced */
#define RACE_KEEP_ALL		1u
#define RACE_HB_ONLY		2u	/* plain happens-before, without SHB */
/* ignore accesses to bytes that were not passed to race_watch() */
#define RACE_ONLY_WATCHED	4u
/* Requires RACE_HB_ONLY: bytes and threads of reports are exact, places and flags are not. */
#define RACE_BYTES		8u

struct race_options {
	u32 places;		/* number of places kept per byte and interval; 0: 1 */
	u32 mode;		/* RACE_KEEP_ALL, RACE_HB_ONLY, RACE_ONLY_WATCHED, RACE_BYTES */
	u64 limit;		/* limit of allocated memory in bytes; 0: none */
};

/** struct race_stats - bytes in use, numbers of objects in use, and counts of events */
struct race_stats {
	u64 bytes, shadow_bytes, state_bytes, clock_bytes;
	u64 pages, states, sites;
	u64 slow;		/* accesses that were not in the lookup cache */
	u64 edges;		/* number of SHB edges */
	u64 collections;
	/* accesses dropped from histories of more than 40,000 unordered accesses */
	u64 dropped;
};

/** struct race_ref - one access of a batch */
struct race_ref {
	u64 pc, address;
	u32 size, flags;
};

/** race_detector_create() - create a detector; @options: NULL for the defaults */
int race_detector_create(struct race_detector **out, const struct race_ops *ops,
			 const struct race_options *options);
/**
 * race_detector_free() - free @d, which may be NULL; call race_sync_free() for all objects before
 */
void race_detector_free(struct race_detector *d);

/**
 * race_thread_begin() - begin a thread that is ordered after all that @parent did until now
 * @parent: RACE_NO_THREAD: unknown. Then the thread is ordered only after what was done while only
 *	one thread existed.
 * @thread: receives the index of the thread
 *
 * Return: 0; -ENOSPC after RACE_THREADS threads; -EINVAL or another error.
 */
int race_thread_begin(struct race_detector *d, u32 parent, u32 *thread);
/** race_thread_end() - the thread does nothing more; it can still be joined */
void race_thread_end(struct race_detector *d, u32 thread);
/**
 * race_thread_join() - order @joiner after the end of @joined
 *
 * If @joined was joined before, @joiner is ordered after what @joined did, but not after what
 * @joined was ordered after. If @joined has not ended, @joiner is ordered after what @joined did
 * until now.
 */
int race_thread_join(struct race_detector *d, u32 joiner, u32 joined);

/** race_acquire() - order what @thread does from now on after all releases of @s */
int race_acquire(struct race_detector *d, u32 thread, const struct race_sync *s);
/** race_release() - order later acquires of @s after this release and all earlier releases of @s */
int race_release(struct race_detector *d, u32 thread, struct race_sync *s);
/** race_release_store() - order later acquires of @s after this release only */
int race_release_store(struct race_detector *d, u32 thread, struct race_sync *s);
/** race_sync_free() - forget all releases of @s and free its memory; @s can be used again */
void race_sync_free(struct race_detector *d, struct race_sync *s);

/** race_access() - @thread accesses @size bytes at @address, cut at the end of the address space */
int race_access(struct race_detector *d, u32 thread, u64 pc, u64 address, u32 size, u32 flags);
/**
 * race_access_known() - @thread accesses those parts of a range that were accessed before
 *
 * For memory that is unmapped: no shadow is made for bytes that were never accessed. @size has no
 * limit.
 */
int race_access_known(struct race_detector *d, u32 thread, u64 pc, u64 address, u64 size,
		      u32 flags);
/**
 * race_each_known() - call @f for pieces of a range that include all bytes accessed before
 *
 * The pieces are whole pages, cut to the range. The walk ends when @f does not return 0; its value
 * is returned.
 */
int race_each_known(struct race_detector *d, u64 address, u64 size,
		    int (*f)(void *arg, u64 address, u64 size), void *arg);
/** race_accesses() - call race_access() for the @n accesses of one thread, in order */
int race_accesses(struct race_detector *d, u32 thread, const struct race_ref *ref, size_t n);

/**
 * race_access_page() - make all accesses in @j, which the redundant-access filter merged
 * @flags: RACE_INSIDE, or 0
 */
int race_access_page(struct race_detector *d, u32 thread, const struct dep_page_accesses *j,
		     u32 flags);

/** race_fetch_page() - prefetch the shadow memory that race_access_page() of @j will use */
void race_fetch_page(struct race_detector *d, const struct dep_page_accesses *j);

/** race_forget() - the memory is newly allocated: forget all accesses to it */
int race_forget(struct race_detector *d, u64 address, u64 size);
/**
 * race_forget_by() - like race_forget(), without race_ops.forgotten for accesses of @thread
 *
 * For memory that @thread allocates: its redundant-access filter knows that the memory is new and
 * drops none of the next accesses.
 */
int race_forget_by(struct race_detector *d, u32 thread, u64 address, u64 size);
/**
 * race_watch() - keep all places that access these bytes; with RACE_ONLY_WATCHED only watched bytes
 * are checked
 *
 * race_forget() does not end watching. After the first race_watch() it frees no memory.
 */
int race_watch(struct race_detector *d, u64 address, u64 size);

/**
 * race_epoch() - current epoch of @thread; 0: no such thread
 *
 * An epoch never decreases. Its bits 16 to 47 are the number of the thread's interval. A new
 * interval begins with each release, and with each acquire that changes the thread's clock.
 */
u64 race_epoch(const struct race_detector *d, u32 thread);

void race_get_stats(const struct race_detector *d, struct race_stats *out);

#endif
