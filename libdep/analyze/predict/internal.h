/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Race prediction: data and functions shared by the files of this folder.
 *
 * In this folder "word" means a shadow word: PREDICT_WORD bytes of the program's memory.
 */
#ifndef ADEPT_ANALYZE_PREDICT_INTERNAL_H
#define ADEPT_ANALYZE_PREDICT_INTERNAL_H

#include "predict.h"

#define PREDICT_PAGE	4096u
#define PREDICT_WORD	8u
#define PREDICT_CELLS	(PREDICT_PAGE / PREDICT_WORD)
#define PREDICT_OPEN	(~0ull)		/* predict_locked.to of a section that never ends */

/* Marks of a shadow word, predict_page.mark. */
#define PREDICT_SHARED		1u	/* one thread writes the word, another accesses it */
/* shared, and possibly nothing orders two of these accesses */
#define PREDICT_CANDIDATE	2u

/**
 * struct predict_edge - the thread's events from number @at on need the first @need events of
 * another thread
 */
struct predict_edge {
	u64 at, need;
	u32 place;
};

/** struct predict_edges - edges from one thread to another; both @at and @need increase */
struct predict_edges {
	struct predict_edge *v;
	u32 n, room;
};

/** struct predict_order - edges of a thread; by[i]: its edges to thread i */
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
	u64 now;		/* number of the thread's next event */
	/* increases with each event that can enlarge the closures of later accesses */
	u64 slot;
	u64 *clock;		/* first pass: vector clock of the thread */
	u32 nclock;
	/* number of the struct predict_set with the locks that the thread holds now */
	u32 set;
	/* edges to needed events: a closure that contains an event contains these, too */
	struct predict_order hard;
	/* edges of the recorded order: a witness (predict.h) keeps it for events of the closure */
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
	/* numbers of the events of @thread that lock and unlock; @to may be PREDICT_OPEN */
	u64 from, to;
	u32 thread, place, left;	/* @place and @left: code places of the lock and unlock */
	bool reading;
};

struct predict_lock {
	u64 address;
	bool tried;
	/* the lock's critical sections, in recorded order */
	struct predict_locked *section;
	u32 n, room;
};

/**
 * struct predict_set - an interned set of held locks
 * @v: sorted; number of the lock times 2, plus 1 if it is held for reading
 */
struct predict_set {
	u32 next, n;
	u32 *v;
};

/**
 * struct predict_entry - first pass: accesses to a shadow word by one thread with the same @set and
 * @flags; @mask (bytes) 0: unused
 */
struct predict_entry {
	/* time of the last of these accesses; the upper 16 bits are the thread's index */
	u64 when;
	u32 set;
	u16 flags;
	u8 mask;
	/* several entries: @set is the number of their struct predict_entries */
	bool more;
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

/** struct predict_event - second pass: an access to a candidate word */
struct predict_event {
	u64 at, slot, pc;
	u32 thread, flags, set, age;
	u8 mask;
};

/** struct predict_cell - second pass: a shared shadow word */
struct predict_cell {
	struct predict_write *write;	/* last writes of the word's bytes */
	struct predict_last *last;	/* last read and last write of each thread */
	struct predict_event *event;
	u32 nwrites, writes_room, nlast, last_room, nevents, events_room;
	/* number of times that predict_forget() was called for the word */
	u32 age;
};

struct predict_page {
	u64 number;
	u8 mark[PREDICT_CELLS];
	bool marked;
	struct predict_entry *entry;	/* allocated in the first pass */
	struct predict_cell **cell;	/* allocated in the second pass */
};

struct predict {
	u64 limit, bytes;
	/*
	 * @received: number of events passed in; @stop_at: ignore events after this number, which
	 *	did not fit into memory in the first pass
	 */
	u64 received, stop_at;
	bool again, stopped;
	struct predict_thread *thread;
	u32 nthreads, threads_room;
	struct predict_page **page;	/* hash table by page number */
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
 * predict_room() - make room for one more element after the @n elements of the array @v
 * @room: number of elements that @v has memory for
 * @size: bytes of an element
 * @err: receives 0, -ENOMEM, or -ENOSPC at the memory limit
 *
 * Return: the array, moved or not.
 */
void *predict_room(struct predict *p, void *v, u32 n, u32 *room, size_t size, int *err);
#define predict_more(p, v, n, room, err) \
	((v) = predict_room(p, v, n, room, sizeof(*(v)), err))
/**
 * predict_alloc() - allocate zeroed memory; NULL with errno ENOMEM, or ENOSPC at the memory limit
 */
void *predict_alloc(struct predict *p, size_t size);
/** predict_take_event() - count an event passed in; false: the caller must ignore it */
bool predict_take_event(struct predict *p);
/**
 * predict_result() - return @err; at the memory limit (-ENOSPC) ignore later events and return 0
 */
int predict_result(struct predict *p, int err);

/* ---- locksets.c ---- */

/** predict_set() - find or add the set of locks that @t holds; 0 or a negative errno */
int predict_set(struct predict *p, const struct predict_thread *t, u32 *out);
/**
 * predict_exclude() - do the sets @a and @b exclude each other by a common lock, held for writing
 * in one of them?
 */
bool predict_exclude(const struct predict *p, u32 a, u32 b);
int predict_lock_of(struct predict *p, u64 address, u32 *out);

/* ---- candidates.c ---- */

struct predict_page *predict_page(struct predict *p, u64 number, bool make);
int predict_candidate(struct predict *p, u32 thread, struct predict_page *page, u32 cell, u8 mask,
		      u32 flags);

/* ---- trace.c ---- */

/** predict_reach() - create the threads with indexes up to @thread; 0 or a negative errno */
int predict_reach(struct predict *p, u32 thread);
/**
 * predict_hard() - add an edge to predict_thread.hard; 1: added, 0: implied by other edges, or a
 * negative errno
 */
int predict_hard(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place);
/**
 * predict_soft() - add an edge to predict_thread.soft; 0 or a negative errno; @place: of event @at
 */
int predict_soft(struct predict *p, u32 thread, u64 at, u32 other, u64 need, u32 place);

/* ---- closure.c ---- */

/** struct sp_closure - sync-preserving closure: the first cut[i] events of each thread i */
struct sp_closure {
	struct predict *p;
	/* true: sync-reversal, in which sections in @keep follow all others of their locks */
	bool reversal;
	u64 *cut;
	/* by thread: code place of the last event in the closure; 0: none */
	u32 *why;
	/* by thread: number of its critical sections that are in the closure */
	u32 *taken;
	struct predict_open {
		u64 turn;
		u32 *v;		/* sections in the closure that may stay without their ends */
		u32 n, room;
		/* index + 1 of the last section in the closure, and of the last one for writing */
		u32 last, last_write;
		u64 keeps;	/* @keep is valid while this equals sp_closure.turn */
		u32 keep[2], nkeep;	/* kept open: sections that contain an access of the pair */
	} *open;
	u32 *todo;
	bool *waits;
	u32 ntodo;
	u64 turn, work, limit;	/* @turn: number of this closure; @limit: of @work, 0: none */
	bool impossible;
};

int sp_closure_init(struct sp_closure *i, struct predict *p);
void sp_closure_free(struct sp_closure *i);
void sp_closure_clear(struct sp_closure *i);
/**
 * sp_closure_keep() - leave @section open, which contains an access of the pair; false: impossible
 */
bool sp_closure_keep(struct sp_closure *i, u32 lock, u32 section);
bool sp_closure_keeps(const struct sp_closure *i, u32 lock, u32 section);
/** sp_closure_add() - add the first @n events of @thread, and all events that these need */
int sp_closure_add(struct sp_closure *i, u32 thread, u64 n);

/* ---- witness.c ---- */

/**
 * predict_witness() - find an order of the closure's events: the steps of @r, stored in @step
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

/* Can two conflicting accesses with flags @a and @b race? */
static inline bool predict_may_race(u32 a, u32 b)
{
	return !(a & b & (RACE_ATOMIC | RACE_INSIDE));
}

#endif
