/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Analyzers: callbacks that receive the recovered items of all threads, merged into one order.
 *
 * The items of a thread come in program order, in runs.  A run begins at an item that has a
 * timestamp (events.h), or at the beginning of a segment, and ends before the next such item.
 * The runs of all threads are merged by these timestamps.  A release therefore comes before the
 * acquire that it allowed.
 *
 * The items between two timestamps come with the first one, which is the earliest time at which
 * they can have happened.  An analyzer that needs the latest time instead leaves the rest of a run
 * and receives it at the thread's next timestamp, see items().
 */
#ifndef DEP_ANALYZE_H
#define DEP_ANALYZE_H

#include <sys/types.h>

#include "recover.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * A system call is delivered twice, once at each of its timestamps.  The first event has this bit
 * set in event.id; the payload is the same.
 */
#define DEP_EV_ENTER	0x80000000u

struct dep_process_filter;

/** struct dep_analyzer - callbacks of an analysis; all are called by the caller's thread */
struct dep_analyzer {
	const char *name;
	/* Requested items, DEP_WANT_*.  Items with timestamps are always delivered. */
	unsigned int want;
	/*
	 * For libdep's race detector, whose filter drops references: must be NULL in programs
	 * outside of libdep, which get all references.
	 */
	const struct dep_process_filter *(*scope)(void *self, const struct dep_thread *t);
	/*
	 * Returns how many of the @n items it consumed, or a negative errno.  The rest is passed
	 * again at the thread's next timestamp, with @late set; then it must consume all.
	 */
	ssize_t (*items)(void *self, const struct dep_thread *t, const struct dep_item *items,
			 size_t n, bool late);
	/* Part of the thread's stream is missing here, between two runs.  NULL: not called. */
	int (*gap)(void *self, const struct dep_thread *t);
	/* The thread's stream is complete.  NULL: not called. */
	int (*end)(void *self, const struct dep_thread *t);
	/*
	 * For dep_analyze_live(): returns whether the DEP_EV_ENTER event of system call @nr can be
	 * delivered while the call still runs.  The event has no result then, and comes before the
	 * call's ADEPT_EV_BUFFER events.  If the process ends during the call, the event is never
	 * in the store.  NULL: never.
	 */
	bool (*foreseen)(void *self, uint32_t nr, const uint64_t args[6]);
};

/** struct dep_analysis - statistics of an analysis */
struct dep_analysis {
	struct dep_counts counts;
	uint64_t gaps;		/* lost or unreadable segments, and threads without an end */
	uint64_t disorder;	/* timestamps below the one before them, treated as equal to it */
};

/** struct dep_analyze_options - owned by the caller; zeroed: the defaults */
struct dep_analyze_options {
	unsigned int jobs;	/* recovery workers, 0 = one per processor */
	/* Called now and then with the number of segments done and the total.  NULL: not called. */
	void (*progress)(size_t done, size_t all);
};

/**
 * dep_analyze() - deliver all items of @store to @a in merged order
 * @self: passed to all callbacks of @a
 * @options: NULL: the defaults
 *
 * A segment that does not decode is a gap.  Memory: two segments' items per living thread.
 *
 * Return: 0, or a negative errno with dep_error().
 */
int dep_analyze(struct dep_store *store, const struct dep_analyzer *a, void *self,
		const struct dep_analyze_options *options, struct dep_analysis *out);

/** struct dep_live_options - callbacks and session of dep_analyze_live() */
struct dep_live_options {
	/**
	 * @wait: sleep for at most @ms milliseconds
	 *
	 * Return: 1 when nothing more will be written to the store, 0 when something may be; a
	 * negative errno ends the analysis.
	 */
	int (*wait)(void *arg, unsigned int ms);
	/* Called when the store is complete and all its files are open.  NULL: not called. */
	void (*complete)(void *arg);
	void *arg;
	int session;		/* descriptor of the recording's session file: dep_session_open() */
};

/**
 * dep_session_open() - open the session file of the process that writes the store @dir
 *
 * Works for a recording of the same user without depd.  depd may record several sessions; it sends
 * their files itself (request "follow" of depd(8)).
 *
 * Return: a descriptor that the caller closes.  -ESRCH: no process of this pid namespace writes
 * @dir; -EACCES: it belongs to another user; -EOPNOTSUPP: it records several sessions; or
 * another negative errno.
 */
int dep_session_open(const char *dir);

/**
 * dep_analyze_live() - dep_analyze() while @store is being written
 * @store: opened by dep_store_open_growing(); complete when this returns 0 or -ESTALE
 * @options: as in dep_analyze()
 * @live: callbacks and session
 *
 * Delivers the same items in the same order as dep_analyze() on the complete store, except for
 * system calls that foreseen() accepts.  An item is delivered as soon as no thread can have a
 * smaller timestamp any more.  The last records of threads that wait are read from their rings,
 * since they are not in the store yet.
 *
 * Return: as dep_analyze().  -EOPNOTSUPP: the rings belong to the kernel module; nothing was
 * delivered and @wait was not called.  -ESTALE: the delivered items turned out to be wrong (a
 * chunk was given up, a system call was interrupted and repeated..); the caller must start again
 * with dep_analyze().
 */
int dep_analyze_live(struct dep_store *store, const struct dep_analyzer *a, void *self,
		     const struct dep_analyze_options *options,
		     const struct dep_live_options *live, struct dep_analysis *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
