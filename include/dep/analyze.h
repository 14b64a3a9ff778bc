/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Analyzers: what the threads of a session did, recovered and merged into one order.
 *
 * A thread's items come in program order, in runs.  A run begins with an item that has a
 * timestamp (abi/stream.h), or where a segment begins, and goes on to the next such item;
 * runs of all threads come in the order of these timestamps.  So what lets another thread go on
 * comes before what that one does then.  What stands between two timestamps comes at the first
 * of them, as early as it can have been; an analyzer that wants the rest of a run as late
 * as it can have been says so, and gets it at the thread's next timestamp.
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
 * A system call comes twice, at both of its timestamps: the first time with this in event.id.
 * The payload is the same.
 */
#define DEP_EV_ENTER	0x80000000u

struct dep_process_filter;

/** struct dep_analyzer - what is called, by one thread, with @self as it was given */
struct dep_analyzer {
	const char *name;
	/* Items that are wanted, DEP_WANT_*; those with timestamps come always. */
	unsigned int want;
	/*
	 * Which references of the thread are reported (libdep/recover/filter/filter.h).  If it is
	 * NULL, or returns NULL, all are.
	 */
	const struct dep_process_filter *(*scope)(void *self, const struct dep_thread *t);
	/*
	 * Returns how many of the @n items it took, or a negative errno.  If not all, it gets
	 * the rest at the thread's next timestamp, with @late, and has to take all then.
	 */
	ssize_t (*items)(void *self, const struct dep_thread *t, const struct dep_item *items,
			 size_t n, bool late);
	/* May be NULL: something of the thread is missing here, between two of its runs. */
	int (*gap)(void *self, const struct dep_thread *t);
	/* May be NULL: its stream is over. */
	int (*end)(void *self, const struct dep_thread *t);
	/*
	 * May be NULL, for none: may the beginning of system call @nr be shown before it has
	 * ended, without a result, and before the ADEPT_EV_BUFFER that belong to it?  It may
	 * not be in the store then, if its process ended in it.  See dep_analyze_live().
	 */
	bool (*foreseen)(void *self, uint32_t nr, const uint64_t args[6]);
};

/** struct dep_analysis - how an analysis went */
struct dep_analysis {
	struct dep_counts counts;
	uint64_t gaps;		/* lost or unreadable segments, and threads without an end */
	uint64_t disorder;	/* timestamps below the ones before them, taken as equal */
};

/**
 * dep_analyze() - show @store to @a, from the beginning to the end
 * @jobs: workers that recover, 0 = one per processor
 * @progress: may be NULL; called now and then with how many of all segments are done
 *
 * A segment that does not decode is a gap.  Memory: two segments' items per living thread.
 *
 * Return: 0, or a negative errno with dep_error().
 */
int dep_analyze(struct dep_store *store, const struct dep_analyzer *a, void *self,
		unsigned int jobs, void (*progress)(size_t done, size_t all),
		struct dep_analysis *out);

/** struct dep_live_options - how a store is followed that is being written */
struct dep_live_options {
	/**
	 * @wait: for @ms milliseconds, or less
	 *
	 * Return: 1 when the store is complete, as far as it will ever be; 0, or a negative
	 * errno to give up.
	 */
	int (*wait)(void *arg, unsigned int ms);
	/* May be NULL: called when it is, and all its files are open. */
	void (*complete)(void *arg);
	void *arg;
	int session;		/* descriptor of the session file that is recorded into */
};

/**
 * dep_analyze_live() - dep_analyze() while @store is being written
 * @store: of dep_store_open_growing(); when this returns 0 or -ESTALE it is complete
 *
 * Shows the same in the same order as dep_analyze() does when the recording has ended, but for
 * what foreseen() says of calls, as soon as that is known: when no thread can come with a
 * smaller timestamp any more.  What threads that wait have written last is read where it stands in
 * their rings.
 *
 * Return: as dep_analyze(); -EOPNOTSUPP for rings of the kernel module, of which nothing was
 * shown and nothing waited for; -ESTALE: what was shown is not how it was after all (memory
 * was given up, a call was interrupted and made again..), begin anew with dep_analyze().
 */
int dep_analyze_live(struct dep_store *store, const struct dep_analyzer *a, void *self,
		     unsigned int jobs, void (*progress)(size_t done, size_t all),
		     const struct dep_live_options *beside, struct dep_analysis *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
