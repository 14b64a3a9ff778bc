/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Race prediction: data and functions that the files of this folder share.
 *
 * In this folder "word" means a shadow word: PREDICT_WORD bytes of the program's memory.
 */
#ifndef ADEPT_ANALYZE_PREDICT_INTERNAL_H
#define ADEPT_ANALYZE_PREDICT_INTERNAL_H

#include "predict.h"

#define PREDICT_PAGE	4096u
#define PREDICT_WORD	8u
#define PREDICT_CELLS	(PREDICT_PAGE / PREDICT_WORD)
#define PREDICT_OPEN	(~0ull)		/* end of a section that never ended */

/* Marks of a shadow word. */
#define PREDICT_SHARED		1u	/* one thread writes it, another one accesses it */
#define PREDICT_CANDIDATE	2u	/* ..and possibly nothing orders these */

/** struct predict_edge - the thread's events from @at on need another thread's first @need ones */
struct predict_edge {
	u64 at, need;
	u32 place;
};

/** struct predict_edges - sorted; both @at and @need increase */
struct predict_edges {
	struct predict_edge *v;
	u32 n, room;
};

/** struct predict_order - edges of a thread, by the other thread */
struct predict_order {
	struct predict_edges *by;
	u32 n;
};

struct predict_late_event {
	u64 at, need;
	u32 other;
};

/** struct predict_taken - event @at begins a critical section */
struct predict_taken {
	u64 at;
	u32 lock, section;
};

struct predict_thread {
	u64 now;		/* number of the next event */
	u64 slot;		/* increases when the closure of later events may be larger */
	u64 *clock;		/* first pass: vector clock, transitive */
	u32 nclock;
	u32 set;		/* locks that it holds now: number of a struct predict_set */
	struct predict_order hard;	/* edges that a closure must follow */
	/* order of the recording between events that are both in a closure */
	struct predict_order soft;
	struct predict_late_event *late_events;
	u32 nlate_events, late_events_room;
	struct predict_taken *taken;
	u32 ntaken, taken_room;
	struct { u64 at, epoch; } *interval;
	u32 nintervals, intervals_room;
	struct { u32 lock, section; bool reading; } *held;
	u32 nheld, held_room;
};

struct predict_locked {
	u64 from, to;		/* event numbers of @thread; @to may be PREDICT_OPEN */
	u32 thread, place, left;	/* places of the lock and the unlock */
	bool reading;
};

struct predict_lock {
	u64 address;
	bool tried;
	struct predict_locked *section;		/* in recorded order */
	u32 n, room;
};

/**
 * struct predict_set - set of held locks (interned); sorted numbers of locks times 2, + 1 if held
 * for reading
 */
struct predict_set {
	u32 next, n;
	u32 *v;
};

/** struct predict_entry - first pass: accesses of a kind to a shadow word; @mask 0: none */
struct predict_entry {
	u64 when;		/* the last one; thread in the upper 16 bits */
	u32 set;
	u16 flags;
	u8 mask;
	bool more;		/* @set is the number of a struct predict_entries instead */
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

/** struct predict_event - second pass: an access to a candidate */
struct predict_event {
	u64 at, slot, pc;
	u32 thread, flags, set, age;
	u8 mask;
};

/** struct predict_cell - second pass: a shared shadow word */
struct predict_cell {
	struct predict_write *write;	/* last writes of its bytes */
	struct predict_last *last;	/* last read and last write of each thread */
	struct predict_event *event;
	u32 nwrites, writes_room, nlast, last_room, nevents, events_room;
	u32 age;			/* number of predict_forget() for it */
};

struct predict_page {
	u64 number;
	u8 mark[PREDICT_CELLS];
	bool marked;
	struct predict_entry *entry;	/* first pass */
	struct predict_cell **cell;	/* second pass */
};

struct predict {
	u64 limit, bytes;
	u64 received, stop_at;	/* events passed in; events that fit in memory in the first pass */
	bool again, stopped;
	struct predict_thread *thread;
	u32 nthreads, threads_room;
	struct predict_page **page;	/* hash table by number */
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

/**
 * predict_room() - make room in @v for one more element; *@err: 0, -ENOMEM, or -ENOSPC at the limit
 */
void *predict_room(struct predict *p, void *v, u32 n, u32 *room, size_t size, int *err);
#define predict_more(p, v, n, room, err) \
	((v) = predict_room(p, v, n, room, sizeof(*(v)), err))
/** predict_alloc() - zeroed memory; NULL with errno ENOMEM or ENOSPC */
void *predict_alloc(struct predict *p, size_t size);
/** predict_take_event() - count an event; false: it is to be ignored */
bool predict_take_event(struct predict *p);
/** predict_result() - turn -ENOSPC into 0 and stop */
int predict_result(struct predict *p, int err);

/* ---- locksets.c ---- */

/** predict_set() - find or add the set of @t's locks; 0 or a negative errno */
int predict_set(struct predict *p, const struct predict_thread *t, u32 *out);
/** predict_exclude() - do both sets have a lock that they cannot hold at the same time? */
bool predict_exclude(const struct predict *p, u32 a, u32 b);
int predict_lock_of(struct predict *p, u64 address, u32 *out);

/* ---- candidates.c ---- */

struct predict_page *predict_page(struct predict *p, u64 number, bool make);
int predict_candidate(struct predict *p, u32 thread, struct predict_page *page, u32 cell, u8 mask,
		      u32 flags);

/* ---- trace.c ---- */

/** predict_reach() - make the threads up to @thread; 0 or a negative errno */
int predict_reach(struct predict *p, u32 thread);
/** predict_hard() - add an edge to t->hard; 1: added, 0: implied by others, or an error */
int predict_hard(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place);
/** predict_soft() - add an edge to t->soft; 0 or an error; @place: of the event */
int predict_soft(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place);

/* ---- closure.c ---- */

/** struct sp_closure - sync-preserving closure: the first @cut events of each thread */
struct sp_closure {
	struct predict *p;
	/* sync-reversal: kept sections come after all others of their lock */
	bool reversal;
	u64 *cut;
	u32 *why;		/* place before the cut; 0: none */
	u32 *taken;		/* number of the thread's sections that are in the closure */
	struct predict_open {
		u64 turn;
		u32 *v;		/* sections in the closure whose end need not be */
		u32 n, room;
		/*
		 * number + 1 of the last section, and of the last one for writing, in the closure
		 */
		u32 last, last_write;
		u64 keeps;	/* value of sp_closure.turn for which @keep is valid */
		u32 keep[2], nkeep;	/* sections that contain the two accesses */
	} *open;
	u32 *todo;
	bool *waits;
	u32 ntodo;
	u64 turn, work, limit;	/* @turn: number of the closure; @limit of @work: 0 is none */
	bool impossible;
};

int sp_closure_init(struct sp_closure *i, struct predict *p);
void sp_closure_free(struct sp_closure *i);
void sp_closure_clear(struct sp_closure *i);
/** sp_closure_keep() - leave @section open, which contains an access; false: not possible */
bool sp_closure_keep(struct sp_closure *i, u32 lock, u32 section);
bool sp_closure_keeps(const struct sp_closure *i, u32 lock, u32 section);
/** sp_closure_add() - add the first @n events of @thread, and all that they need */
int sp_closure_add(struct sp_closure *i, u32 thread, u64 n);

/* ---- witness.c ---- */

/**
 * predict_witness() - order the closure's events, as steps of @r
 *
 * Return: 0; 1 if no order exists or the limit of work was reached; or -ENOMEM.
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

/* Can two conflicting accesses race? */
static inline bool predict_may_race(u32 a, u32 b)
{
	return !(a & b & (RACE_ATOMIC | RACE_INSIDE));
}

#endif
