/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Analyzers: callbacks that receive the recovered items of all threads, merged into one order.
 *
 * The items of a thread come in program order, in runs.  A run begins at an item that has a
 * timestamp (events.h), or at the beginning of a segment, and ends before the next such item.
 * The runs of all threads are merged by these timestamps.  Therefore a release operation comes
 * before an acquire operation that waited for it.
 *
 * Items between two timestamps are delivered at the first timestamp, the earliest time at which
 * they can have happened.  An analyzer that needs the latest time instead does not consume all
 * items of the run; it receives the rest at the thread's next timestamp, see items().
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
	 * Return the settings of libdep's redundant-access filter for the process of @t, or NULL to
	 * receive all references.  Only libdep's race detector sets this callback: it must be NULL
	 * in programs outside of libdep.
	 */
	const struct dep_process_filter *(*scope)(void *self, const struct dep_thread *t);
	/*
	 * Return the number of consumed items (at most @n), or a negative errno.  Items that were
	 * not consumed are passed again at the thread's next timestamp, with @late set; the
	 * callback must then consume all of them.
	 */
	ssize_t (*items)(void *self, const struct dep_thread *t, const struct dep_item *items,
			 size_t n, bool late);
	/*
	 * Called before the first item of each stored segment; @segment is its index in
	 * dep_store_segments().  NULL: not called.  dep_analyze_live() calls it only for segments
	 * that it reads after the recording.
	 */
	int (*segment)(void *self, const struct dep_thread *t, uint32_t segment);
	/*
	 * Called between two runs if a part of the thread's stream between them is missing.
	 * NULL: not called.
	 */
	int (*gap)(void *self, const struct dep_thread *t);
	/* Called after the last item of a thread.  NULL: not called. */
	int (*end)(void *self, const struct dep_thread *t);
	/*
	 * For dep_analyze_live(): return true if the DEP_EV_ENTER event of system call @nr may be
	 * delivered while the call still runs.  The event then has no result, and comes before the
	 * call's ADEPT_EV_BUFFER events.  If the process ends during the call, the store will not
	 * contain the event.  NULL: same as always returning false.
	 */
	bool (*foreseen)(void *self, uint32_t nr, const uint64_t args[6]);
};

/** struct dep_analysis - statistics of an analysis */
struct dep_analysis {
	struct dep_counts counts;
	/* number of lost or unreadable segments, and of threads whose end was not recorded */
	uint64_t gaps;
	/* number of timestamps below the thread's previous timestamp, which replaced them */
	uint64_t disorder;
};

/** struct dep_analyze_options - owned by the caller; all zero selects the defaults */
struct dep_analyze_options {
	unsigned int jobs;	/* recovery workers, 0 = one per processor */
	/*
	 * Called from time to time with the number of analyzed segments and the number of all
	 * segments.  NULL: not called.
	 */
	void (*progress)(size_t done, size_t all);
};

/**
 * dep_analyze() - deliver all items of @store to @a in merged order
 * @self: passed to all callbacks of @a
 * @options: NULL: the defaults
 *
 * A segment that cannot be decoded is treated as a gap.  Needs memory for the items of two segments
 * of each recorded thread that ran at the same time.
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
	 * Return: 1 if the store will not be written to any more, 0 if it may be; a negative errno
	 * ends the analysis.
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
 * Works for a recording by the same user without depd.  For a recording through depd, request the
 * session file from depd (request "follow", depd(8)): depd may record several sessions.
 *
 * Return: a descriptor that the caller closes.  -ESRCH: no process of this pid namespace writes
 * @dir; -EACCES: the process belongs to another user; -EOPNOTSUPP: the process records several
 * sessions; or another negative errno.
 */
int dep_session_open(const char *dir);

/**
 * dep_analyze_live() - dep_analyze() while @store is being written
 * @store: opened by dep_store_open_growing(); complete when this returns 0 or -ESTALE
 * @options: as in dep_analyze()
 * @live: callbacks and session
 *
 * Delivers the same items in the same order as dep_analyze() on the complete store, except for
 * system calls that foreseen() accepts.  An item is delivered as soon as no thread can produce an
 * item with a smaller timestamp.  The last records of a waiting thread are not in the store yet;
 * they are read from the thread's ring.
 *
 * Return: as dep_analyze().  -EOPNOTSUPP: the rings belong to the kernel module; nothing was
 * delivered and @wait was not called.  -ESTALE: the delivered items turned out to be wrong, for
 * example because a chunk was dropped or a system call was interrupted and repeated; the caller
 * must start again with dep_analyze().
 */
int dep_analyze_live(struct dep_store *store, const struct dep_analyzer *a, void *self,
		     const struct dep_analyze_options *options,
		     const struct dep_live_options *live, struct dep_analysis *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
