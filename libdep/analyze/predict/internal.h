/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside of prediction. */
#ifndef ADEPT_ANALYZE_PREDICT_INTERNAL_H
#define ADEPT_ANALYZE_PREDICT_INTERNAL_H

#include "predict.h"

#define PREDICT_PAGE	4096u
#define PREDICT_GRANULE	8u
#define PREDICT_CELLS	(PREDICT_PAGE / PREDICT_GRANULE)
#define PREDICT_OPEN	(~0ull)		/* the end of a section that has none */

/* What a granule turned out to be. */
#define PREDICT_SHARED		1u	/* one thread writes, another one accesses it */
#define PREDICT_CANDIDATE	2u	/* and maybe nothing orders them */

/** struct predict_edge - from the thread's event @at on another thread's first @need are needed */
struct predict_edge {
	u64 at, need;
	u32 place;
};

/** struct predict_edges - one after the other; both @at and @need grow */
struct predict_edges {
	struct predict_edge *v;
	u32 n, room;
};

/** struct predict_order - by the other thread */
struct predict_order {
	struct predict_edges *by;
	u32 n;
};

struct predict_late_event {
	u64 at, need;
	u32 other;
};

/** struct predict_taken - the thread's event @at begins a section */
struct predict_taken {
	u64 at;
	u32 lock, section;
};

struct predict_thread {
	u64 now;		/* the number of its next event */
	u64 slot;		/* grows where an ideal can come to depend on others */
	u64 *clock;		/* the first time only: what it needs, with all that that needs */
	u32 nclock;
	u32 set;		/* locks that it holds */
	struct predict_order hard;	/* for the ideal */
	struct predict_order soft;	/* if both are in it, the order was this one */
	struct predict_late_event *late_events;
	u32 nretro, late_events_room;
	struct predict_taken *taken;
	u32 ntaken, taken_room;
	struct { u64 at, epoch; } *interval;
	u32 nintervals, intervals_room;
	struct { u32 lock, section; bool reading; } *held;
	u32 nheld, held_room;
};

struct predict_locked {
	u64 from, to;		/* events of @thread; PREDICT_OPEN */
	u32 thread, place, left;	/* where it was taken and left */
	bool reading;
};

struct predict_lock {
	u64 address;
	bool tried;
	struct predict_locked *section;		/* in their order */
	u32 n, room;
};

/** struct predict_set - locks that are held together, sorted; each times 2, + 1: for reading */
struct predict_set {
	u32 next, n;
	u32 *v;
};

/** struct predict_entry - the first time: who accesses a granule, and how; mask 0: none */
struct predict_entry {
	u64 when;		/* thread in the upper 16 bits; the last time */
	u32 set;
	u16 flags;
	u8 mask;
	bool more;		/* set is the number of a struct predict_entries */
};

struct predict_entries {
	struct predict_entry *v;
	u32 n, room;
};

struct predict_write {
	u64 at;
	u32 thread, place;
	u8 mask;
};

struct predict_last {
	u64 at;
	u32 thread;
	bool write;
	u8 mask;
};

/** struct predict_event - an access to a candidate */
struct predict_event {
	u64 at, slot, pc;
	u32 thread, flags, set, age;
	u8 mask;
};

/** struct predict_cell - the second time: a shared granule */
struct predict_cell {
	struct predict_write *write;	/* who wrote its bytes last */
	struct predict_last *last;	/* each thread's last access, reading and writing */
	struct predict_event *event;
	u32 nwrites, writes_room, nlast, last_room, nevents, events_room;
	u32 age;			/* how often it was forgotten */
};

struct predict_page {
	u64 number;
	u8 mark[PREDICT_CELLS];
	bool marked;
	struct predict_entry *entry;	/* the first time */
	struct predict_cell **cell;	/* the second time */
};

struct predict {
	u64 limit, bytes;
	u64 told, stop_at;	/* so many were told; from there on it is too much */
	bool again, stopped;
	struct predict_thread *thread;
	u32 nthreads, threads_room;
	struct predict_page **page;	/* by a hash of the number */
	u32 npages, pages_room;
	struct predict_page *last;
	struct predict_entries *entries;
	u32 nentries, entries_room, free_entries;
	struct predict_lock *lock;
	u32 nlocks, locks_room;
	u32 *lock_slot, lock_slots;
	struct predict_set *set;
	u32 nsets, sets_room;
	u32 set_head[1024];
	u64 shared, candidates, accesses, sections, edges;
};

/** predict_room() - @v with room for an element more; *@err: 0, -ENOMEM, or -ENOSPC: the limit */
void *predict_room(struct predict *p, void *v, u32 n, u32 *room, size_t size, int *err);
#define predict_more(p, v, n, room, err) \
	((v) = predict_room(p, v, n, room, sizeof(*(v)), err))
/** predict_alloc() - zeroed; NULL: no memory, or the limit */
void *predict_alloc(struct predict *p, size_t size);
/** predict_events_sent() - something is told: is it of interest? */
bool predict_events_sent(struct predict *p);
/** predict_result() - 0 instead of -ENOSPC, which stops it */
int predict_result(struct predict *p, int err);

/* ---- locksets.c ---- */

/** predict_set() - the number of that set; negative errno */
int predict_set(struct predict *p, const struct predict_thread *t, u32 *out);
/** predict_exclude() - is there a lock in both that only one can hold? */
bool predict_exclude(const struct predict *p, u32 a, u32 b);
int predict_lock_of(struct predict *p, u64 address, u32 *out);

/* ---- candidates.c ---- */

struct predict_page *predict_page(struct predict *p, u64 number, bool make);
int predict_candidate(struct predict *p, u32 thread, struct predict_page *page, u32 cell, u8 mask,
		      u32 flags);

/* ---- trace.c ---- */

/** predict_hard() - the thread's event @at needs it; 1 if it did not before, or an error */
int predict_hard(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place);
/** predict_soft() - it came after that; 0 or an error; @place: of the event */
int predict_soft(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place);

/* ---- closure.c ---- */

/** struct sp_closure - of each thread the first @cut events, of each lock what is open */
struct sp_closure {
	struct predict *p;
	bool reversal;		/* sections that are kept open come last of their locks' */
	u64 *cut;
	u32 *why;		/* the place in front of the cut; 0: none */
	u32 *taken;		/* so many of the thread's sections */
	struct predict_open {
		u64 turn;
		u32 *v;		/* sections that are not known to end in it */
		u32 n, room;
		u32 last, last_write;	/* + 1; in it */
		u64 keeps;	/* the turn of: */
		u32 keep[2], nkeep;	/* sections that the two accesses are in */
	} *open;
	u32 *todo;
	bool *waits;
	u32 ntodo;
	u64 turn, work, limit;	/* 0: none */
	bool impossible;
};

int sp_closure_init(struct sp_closure *i, struct predict *p);
void sp_closure_free(struct sp_closure *i);
void sp_closure_clear(struct sp_closure *i);
/** sp_closure_keep() - @section of @lock is kept open; false: that cannot be */
bool sp_closure_keep(struct sp_closure *i, u32 lock, u32 section);
bool sp_closure_keeps(const struct sp_closure *i, u32 lock, u32 section);
/** sp_closure_add() - the first @n of @thread, and all that they need */
int sp_closure_add(struct sp_closure *i, u32 thread, u64 n);

/* ---- witness.c ---- */

/**
 * predict_witness() - the ideal's events in a good order, as steps of @r
 *
 * Return: 0, 1: there is none, which contradicts what was told, or the limit of work has been
 * reached before it was found; or -ENOMEM.
 */
int predict_witness(struct sp_closure *i, struct predict_race *r,
		    struct predict_step *step);

static inline u64 predict_need_of(const struct predict_order *o, u32 thread)
{
	const struct predict_edges *e = thread < o->n ? &o->by[thread] : NULL;

	return e && e->n ? e->v[e->n - 1].need : 0;
}

static inline bool predict_conflict(u32 a, u32 b)
{
	return (a | b) & RACE_WRITE;
}

/* Two that conflict: would they race? */
static inline bool predict_may_race(u32 a, u32 b)
{
	return !(a & b & (RACE_ATOMIC | RACE_INSIDE));
}

#endif
