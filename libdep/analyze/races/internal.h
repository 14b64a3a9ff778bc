/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of the race detector.
 *
 * A thread's epoch has 48 bits: 32 bits for the number of its interval (also called version), and a
 * 16-bit sub-epoch. An interval begins with each change of the thread's clock and each release.
 * When a place is first executed in an interval, it gets the next sub-epoch, and all its accesses
 * in that interval have this sub-epoch. So a sub-epoch is a lower bound of an access's time, and
 * the accesses of a loop are equal.
 *
 * In addition to the id of its history, a shadow word has the exact time of its last write. Both
 * together show what a thread did before and after a write within an interval, which only SHB
 * needs. A release publishes the end of its interval.
 */
#ifndef ADEPT_ANALYZE_RACES_INTERNAL_H
#define ADEPT_ANALYZE_RACES_INTERNAL_H

#include "detector.h"
#include "clock_history.h"
#include "shadow.h"
#include "sites.h"
#include "access_history.h"

#define RACE_EPOCH	0xffffffffffffull
#define RACE_SUB_EPOCH	0xffffull

#define RACE_MEMOS	4096u
#define RACE_SUB_EPOCHS	4096u	/* maximum size of a thread's table of sub-epochs */
#define RACE_PENDING	64u

/** struct race_sub_epoch - sub-epoch (@stamp) of code location @site in interval @version */
struct race_sub_epoch {
	u32 site, version, stamp;
};

enum race_life { RACE_LIVES, RACE_ENDED, RACE_JOINED };

struct race_thread {
	struct race_clock clock;
	struct race_history history;
	/* first epoch after the thread's last release; other threads' clocks have earlier ones */
	u64 since;
	u32 context;		/* unique number of the thread and its interval */
	enum race_life life;
	struct race_sub_epoch *stamp;	/* hash table of sub-epochs, by low bits of the site */
	u32 stamps;			/* size of @stamp, a power of two, or 0 */
};

/**
 * struct race_lookup_cache - cached result of an access that is no race
 * @key: context of the thread, and id of the access history before the access
 * @how: flags of the access, and accessed bytes of the shadow word
 * @id: access history after the access
 */
struct race_lookup_cache {
	u64 pc, key;
	u32 how, id;
};

/** struct race_access_ctx - the current access; @when and @site are 0 until find_site() */
struct race_access_ctx {
	struct race_thread *t;
	u32 thread, flags;
	u64 pc;
	u64 when;
	u32 site;
};

struct race_pending {
	u64 when, address;
	u32 site, size;
};

struct race_detector {
	/* ignore accesses: only one thread exists, or an error occurred */
	bool skip;
	int error;
	u32 nthreads, room;
	struct race_thread *thread;
	u32 contexts;
	u32 around;		/* number of threads that have not been joined */
	u32 forgets;		/* thread argument of race_forget_by(), or RACE_NO_THREAD */
	/* id of the history of watched bytes that were not accessed; 0: nothing is watched */
	u32 watched;
	struct race_mem mem;
	struct race_ops ops;
	struct race_options options;
	struct race_shadow shadow;
	struct access_histories states;
	struct race_sites sites;
	/* buffers for the accesses of a new history; @scratch: their size in elements */
	u64 *when;
	u32 *site;
	u32 scratch;
	/*
	 * Results of the current access: races to report, and writes that the access must be
	 * ordered after.
	 */
	u32 npending, nedges, edge_room;
	u64 *edge;
	struct race_pending pending[RACE_PENDING];
	/* bytes used by clocks and clock histories after the last collection */
	u64 clocks_kept;
	u64 slow, edges, collections, dropped;
	struct race_lookup_cache memo[RACE_MEMOS];
};

static inline u32 race_when_thread(u64 when)
{
	return when >> 48;
}

static inline u32 race_when_version(u64 when)
{
	return when >> 16;
}

static inline u64 race_when(u32 thread, u64 epoch)
{
	return (u64)thread << 48 | epoch;
}

/* Are the times @a and @b in the same interval of the same thread? */
static inline bool race_same_interval(u64 a, u64 b)
{
	return a >> 16 == b >> 16;
}

/** race_fail() - if @ret is an error, return it from all later calls, too */
int race_fail(struct race_detector *d, int ret);

/**
 * race_begin_interval() - begin an interval of @t; @release: a release has published the last one
 */
int race_begin_interval(struct race_detector *d, struct race_thread *t, bool release);

/**
 * race_step() - apply the access @now to the history @id of the @size bytes at @address
 * @wrote: time of the last write to the shadow word of these bytes
 * @out: receives the id of the next history
 * @keep: cleared if the result must not be cached for other bytes with the same history
 *
 * Races are added to d->pending and SHB edges to d->edge.
 *
 * Return: 0 or -ENOMEM.
 */
int race_step(struct race_detector *d, const struct race_access_ctx *now, u32 id, u64 wrote,
	      u64 address, u32 size, u32 *out, bool *keep);

/** race_conclude() - report the races in d->pending and apply the SHB edges in d->edge */
int race_conclude(struct race_detector *d, const struct race_access_ctx *now);

/** race_report_pending() - report the races in d->pending and empty it */
void race_report_pending(struct race_detector *d, const struct race_access_ctx *now);

/**
 * race_local_create() - make a thread-local entry for a shadow word
 * @part: histories of the word's eight bytes, including the access @now
 * @cell: receives the entry; unchanged if an entry cannot represent the histories
 *
 * Return: 0 or -ENOMEM.
 */
int race_local_create(struct race_detector *d, const struct race_access_ctx *now, const u32 *part,
		      u32 *cell);
/** race_local_flush() - turn the thread-local entry of word @i of @page into access histories */
int race_local_flush(struct race_detector *d, struct race_page *page, u32 i);

/** race_collect_due() - is there enough new memory of histories or clocks for race_gc()? */
bool race_collect_due(const struct race_detector *d);
/** race_gc() - free unused access histories; prune clock histories if they grew enough, or @all */
int race_gc(struct race_detector *d, bool all);

#endif
