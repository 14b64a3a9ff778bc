/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside the race detector.
 *
 * A thread's epoch has 48 bits: the number of its interval, 32 bits, which begins with
 * each change of its clock and each release, and below it a stamp.  The first time that a
 * place is executed in an interval, it gets the next stamp, and all its accesses of that
 * interval carry it: a lower bound of their time, which makes nothing of a loop's accesses
 * differ.  When a granule was written last is kept exactly, beside its id.  Between the two
 * it can be told what a thread did before a write, and what after it, within an interval;
 * only SHB needs that.  A release publishes the end of its interval.
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
#define RACE_SUB_EPOCHS	4096u	/* of a thread, at most */
#define RACE_PENDING	64u

/** struct race_sub_epoch - a place's stamp in the interval @version */
struct race_sub_epoch {
	u32 site, version, stamp;
};

enum race_life { RACE_LIVES, RACE_ENDED, RACE_ITEM_PAGE };

struct race_thread {
	struct race_clock clock;
	struct race_history history;
	u64 since;		/* the first epoch that others cannot know of by a release */
	u32 context;		/* number of thread and interval, never used for others */
	enum race_life life;
	struct race_sub_epoch *stamp;	/* by the low bits of the site's number.. */
	u32 stamps;			/* ..a power of two, or 0 */
};

/**
 * struct race_lookup_cache - what an access makes of a state, if it is not a race
 * @key: context of the thread, and id of the state
 * @how: flags and bytes of the granule; @id: the state afterwards
 */
struct race_lookup_cache {
	u64 pc, key;
	u32 how, id;
};

/**
 * struct race_access_ctx - the access that is being looked at; site and what follows: 0 = not yet
 */
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
	bool skip;		/* there is nothing to record: one thread, or an error */
	int error;
	u32 nthreads, room;
	struct race_thread *thread;
	u32 contexts;
	u32 around;		/* threads that have not been joined */
	u32 forgets;		/* thread that makes memory new, or RACE_NO_THREAD */
	u32 watched;		/* id of what is watched and was not accessed, or 0 */
	struct race_mem mem;
	struct race_ops ops;
	struct race_options options;
	struct race_shadow shadow;
	struct race_states states;
	struct race_sites sites;
	/* a state that is being made */
	u64 *when;
	u32 *site;
	u32 scratch;
	/* of the access: reports, and times of writes that it is to be ordered after */
	u32 npending, nedges, edge_room;
	u64 *edge;
	struct race_pending pending[RACE_PENDING];
	u64 clocks_kept;	/* bytes of clocks and histories after the last collection */
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

/* Thread and interval of both are the same. */
static inline bool race_same_interval(u64 a, u64 b)
{
	return a >> 16 == b >> 16;
}

/** race_fail() - @ret is final, unless it is 0 or positive */
int race_fail(struct race_detector *d, int ret);

/** race_begin_interval() - @t begins a new one, and if @release so that others can tell */
int race_begin_interval(struct race_detector *d, struct race_thread *t, bool release);

/**
 * race_step() - what access @now makes of a state that @size bytes from @address on have
 * @wrote: when their granule was written last
 * @keep: cleared if the same must not be concluded for other bytes of that state
 *
 * Races are left in d->pending and d->edge.
 */
int race_step(struct race_detector *d, const struct race_access_ctx *now, u32 id, u64 wrote,
	      u64 address, u32 size, u32 *out, bool *keep);

/** race_conclude() - report and order what race_step() left */
int race_conclude(struct race_detector *d, const struct race_access_ctx *now);

/** race_report_pending() - tell of what is in d->pending */
void race_report_pending(struct race_detector *d, const struct race_access_ctx *now);

/**
 * race_local_create() - *@cell: a record of a granule whose bytes have the states @part, of which
 * @now made one; as it was if that cannot be
 */
int race_local_create(struct race_detector *d, const struct race_access_ctx *now, const u32 *part,
		      u32 *cell);
/** race_local_flush() - make states of the record of granule @i of @page */
int race_local_flush(struct race_detector *d, struct race_page *page, u32 i);

/** race_collect_due() - are there enough new states, or clocks? */
bool race_collect_due(const struct race_detector *d);
/** race_gc() - forget states that nothing names, and if there is need or @all, of histories */
int race_gc(struct race_detector *d, bool all);

#endif
