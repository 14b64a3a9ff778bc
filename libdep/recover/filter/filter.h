/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Redundant-access filter.
 *
 * Between two synchronisation operations a thread's clock does not change.  Within such an
 * interval a later access to the same bytes, of no stronger kind, races with exactly the same
 * accesses of other threads as the first one.  Recovery drops these repeated accesses before they
 * reach the detector, which removes nearly all of them.  In another mode the filter emits only
 * accesses to a given set of words.
 *
 * The filter never drops what can order threads:
 *  - references of locked instructions (of atomic counters, one per word and interval), and later
 *    accesses to the words they use;
 *  - writes of libraries to the thread's control block, which has the list of robust mutexes;
 *  - the first access after control enters or leaves the thread runtime.
 * It always drops plain accesses made by allocators and the dynamic loader.
 *
 * After the first few of an interval, accesses are deferred.  They are flushed, merged by page,
 * before the thread may synchronise; no clock changes in between.  The last deferred reads are
 * also emitted one by one: the analyzer recognises a waiting thread by its reads.
 */
#ifndef ADEPT_RECOVER_FILTER_FILTER_H
#define ADEPT_RECOVER_FILTER_FILTER_H

#include "dep/recover.h"
#include "heap_blocks.h"
#include "atomic_counters.h"
#include "word_set.h"
#include "libdep/recover/program/program.h"
#include "access_set.h"

/* dep_ref.type: a plain write to an atomic word; it begins a new interval. */
#define DEP_REF_RELEASES	0x100u
/* dep_ref.type: of a locked instruction on an atomic counter; it orders nothing. */
#define DEP_REF_COUNTS		0x400u

/**
 * struct dep_process_filter - shared by the filters of a process's threads
 * @code: get enum dep_code of a pc; called by any number of threads at once; its result must stay
 *	the same while the store is open
 * @locked: atomic words; locked instructions add to them
 * @spin_words: words that a thread waited for in a loop of reads; filters add to them
 * @counters: atomic counters; NULL: all locked instructions order
 * @wanted: emit only accesses to these words; NULL: emit the first accesses of an interval
 * @singly: defer nothing
 * @interpret: recover without machine code, to compare results
 */
struct dep_process_filter {
	u32 process;
	u8 (*code)(void *arg, u32 process, u64 pc);
	void *arg;
	struct dep_word_set *locked, *spin_words;
	struct dep_atomic_counters *counters;
	const struct dep_word_set *wanted;
	bool singly;
	bool interpret;
};

/* Origin of an access in the access set; MUTED: never emitted; LOOK: emit the next one. */
enum {
	DEP_FILTER_PROGRAM,
	DEP_FILTER_LIBRARY,
	DEP_FILTER_THREADS,
	DEP_FILTER_MUTED = DEP_ORIGIN_IGNORED,
	DEP_FILTER_LOOK = 4,
};

/* FLUSH_THEN_EMIT: the caller flushes the deferred accesses, then emits this one. */
enum dep_filtered { DEP_FILTER_DROP, DEP_FILTER_EMIT, DEP_FILTER_FLUSH_THEN_EMIT };

#define DEP_FILTER_CODES	8u
/* A thread that reads the same word this often, without a write, waits for another thread. */
#define DEP_FILTER_SPINS	8u
/* References of an interval that are emitted one by one before the others are deferred. */
#define DEP_FILTER_SINGLY	8u
/* Last deferred reads that are also emitted one by one. */
#define DEP_FILTER_LAST		8u
/* dep_filter.quiet after a record with a write */
#define DEP_FILTER_QUIET	(-(s32)DEP_FILTER_SPINS)

#define DEP_FILTER_ALL_OF_IT	(~0ull)

#define DEP_FILTER_COUNTED	8u
#define DEP_FILTER_NOTHING	(~0u)	/* dep_filter.unheard: none */

#define DEP_FILTER_CALLS	16u	/* nesting depth of hooked functions that is tracked */

/** struct dep_filter_call - call of a hooked function; @sp: dep_call_values.sp; @code: its code */
struct dep_filter_call {
	u64 sp, size;
	u64 block;		/* the first argument; 0: unknown */
	u16 function;
	u8 code;
	bool sized;		/* @size is known */
};

struct dep_ahead;

/** struct dep_filter - the filter of a thread; its segments pass through it in order */
struct dep_filter {
	const struct dep_process_filter *scope;
	u32 thread;		/* its number, not 0 */
	struct dep_access_set seen;
	u32 singly;		/* number of references emitted one by one in this interval */
	u32 nlast, first;
	struct dep_ref last[DEP_FILTER_LAST];	/* ring of deferred reads, by nlast */
	u32 reads;		/* since the last write */
	s32 quiet;		/* counts records without a write; at 0 a wait loop is possible */
	u32 wholly;		/* number of further records that run their whole program */
	u8 watched[256];	/* checks for wait loops, by hash of the fragment */
	bool all;		/* inside a locked instruction */
	bool counts;		/* its word may be an atomic counter */
	bool fence;		/* it is a fence: its word does not become atomic */
	u32 unheard;		/* DEP_TK_* of a muted first timestamp, or DEP_FILTER_NOTHING */
	bool muted;		/* in a hooked function whose accesses are dropped */
	bool unsure;		/* the thread may be in hooked functions that are not in call[] */
	u32 ncalls;
	struct dep_filter_call call[DEP_FILTER_CALLS];
	struct dep_heap_sizes blocks;
	u64 fs;			/* address of the thread's control block */
	u8 who[DEP_FILTER_CODES];	/* origin by enum dep_code; may have DEP_FILTER_LOOK */
	u64 tag[DEP_FILTER_CODES];	/* dep_access_set_tag() by code; 0: no lookup */
	struct { u64 pc, at; u32 n; } spin;
	struct { u64 addr, turn; } counted[DEP_FILTER_COUNTED];	/* last counts, by address */
	struct { u64 pc, timestamp; } held;	/* withheld timestamp; pc 0: none */
	u64 next_seq;		/* sequence number of the segment that must come next */
	u64 peeked;		/* segment that is emitted in parts: timestamps stay */
	bool timestamps_stay;
	struct dep_ahead *ahead;	/* owned by the segment loader */
};

/** dep_filter_init() - 0 or -ENOMEM; call dep_filter_free() in both cases; @thread: not 0 */
int dep_filter_init(struct dep_filter *s, const struct dep_process_filter *scope, u32 thread);
void dep_filter_free(struct dep_filter *s);
/** dep_filter_copy() - copy with an empty access set, to recover data again; 0 or -ENOMEM */
int dep_filter_copy(struct dep_filter *to, const struct dep_filter *from);

/** dep_filter_new_interval() - begin an interval: the thread may have synchronised */
void dep_filter_new_interval(struct dep_filter *s);
/** dep_filter_reset() - data is missing: nothing is known of the thread's hooked functions */
void dep_filter_reset(struct dep_filter *s);
/** dep_filter_left() - forget the hooked functions that the thread is in */
void dep_filter_left(struct dep_filter *s);
/** dep_filter_passes() - must deferred accesses be flushed before dep_filter_function()? */
bool dep_filter_passes(const struct dep_filter *s, const struct dep_function_call *f);
/**
 * dep_filter_function() - the thread enters or leaves a hooked function
 * @code: enum dep_code of @f->pc
 *
 * Memory that it allocates or frees becomes new.  Any other call or return begins an interval,
 * except inside allocators and read-write locks.
 *
 * Return: how many bytes of the freed block, or of the block whose size was reported, are new;
 * DEP_FILTER_ALL_OF_IT for all of them.
 */
u64 dep_filter_function(struct dep_filter *s, const struct dep_function_call *f, u8 code);
/**
 * dep_filter_locks() - must deferred accesses be flushed before dep_filter_timestamp()?
 * @code: enum dep_code of the instruction
 */
bool dep_filter_locks(const struct dep_filter *s, u32 how, u8 code);
/** dep_filter_timestamp() - a timestamp of a locked instruction; @how: DEP_TK_* */
void dep_filter_timestamp(struct dep_filter *s, u32 how);
/**
 * dep_filter_holds() - must the first timestamp of a locked instruction be withheld?
 *
 * Call it after dep_filter_timestamp().  The timestamp of an instruction that may be a counter is
 * withheld until a reference of the instruction is emitted.  If the second timestamp comes first,
 * both are dropped.  With @s->timestamps_stay no timestamp is withheld.
 */
bool dep_filter_holds(const struct dep_filter *s, u32 how, u8 code);
/** dep_filter_code() - enum dep_code of the code at @pc */
u8 dep_filter_code(const struct dep_filter *s, u64 pc);
/**
 * dep_filter_learn() - set dep_op.origin of all operations of @p, and make its filtered program
 *
 * Return: 0 or -ENOMEM.
 */
int dep_filter_learn(struct dep_filter *s, struct dep_program *p);
/**
 * dep_filter_defer() - defer or drop a reference, if possible
 *
 * Return: false if the caller must use dep_filter_first() instead.
 */
bool dep_filter_defer(struct dep_filter *s, u8 code, const struct dep_ref *r);
/**
 * dep_filter_defer_near() - the same for several references within 64 bytes, in simple cases
 * @addr: of the lowest byte
 * @read: a bit for each byte from @addr on that is only read
 * @wrote: a bit for each byte that is written
 *
 * Return: false if nothing was done.
 */
bool dep_filter_defer_near(struct dep_filter *s, u8 code, u64 pc, u64 addr, u64 read, u64 wrote);
/**
 * dep_filter_flush() - get the deferred accesses of one page; false: no page is left
 * @out: with room for DEP_JOINED_WORDS
 */
bool dep_filter_flush(struct dep_filter *s, struct dep_page_accesses *out);
/** dep_filter_last() - after dep_filter_flush(), get the last deferred reads; false: none left */
bool dep_filter_last(struct dep_filter *s, struct dep_ref *r);
/** dep_filter_slowly() - slow path of dep_filter_first() */
enum dep_filtered dep_filter_slowly(struct dep_filter *s, u8 code, struct dep_ref *r);
/**
 * dep_filter_watches() - should @fragment be checked for a wait loop?
 *
 * The answer gets rarer with each call for the fragment, down to every 64th time.
 */
bool dep_filter_watches(struct dep_filter *s, u32 fragment);
/** dep_filter_wanted() - slow path of dep_filter_wants() */
bool dep_filter_wanted(struct dep_filter *s, u8 code, u64 addr, u32 size, u32 type);
/** dep_filter_spin() - a read that follows more than DEP_FILTER_SPINS reads without a write */
void dep_filter_spin(struct dep_filter *s, u64 pc, u64 addr, u32 size);

/** dep_filter_again() - is it a repeated access?  @size: 1 to DEP_ACCESS_SET_AT_ONCE */
static inline bool dep_filter_again(const struct dep_filter *s, u8 code, u64 addr, u32 size,
				    bool write)
{
	return dep_access_set_has(&s->seen, s->tag[code], addr, size, write);
}

/**
 * dep_filter_first() - decide for a reference, in the mode that emits first accesses
 *
 * May set DEP_REF_RELEASES in @r->type.  The caller then calls dep_filter_new_interval() after it
 * has emitted @r.
 */
static inline enum dep_filtered dep_filter_first(struct dep_filter *s, u8 code, struct dep_ref *r)
{
	if (r->type & DEP_WRITE)
		s->reads = 0;
	else if (++s->reads > DEP_FILTER_SPINS)
		dep_filter_spin(s, r->pc, r->addr, r->size);
	if (s->all || r->size - 1 >= DEP_ACCESS_SET_AT_ONCE ||
	    !dep_filter_again(s, code, r->addr, r->size, r->type & DEP_WRITE))
		return dep_filter_slowly(s, code, r);
	return DEP_FILTER_DROP;
}

/** dep_filter_wants() - must this reference be emitted, in the mode with wanted words? */
static inline bool dep_filter_wants(struct dep_filter *s, u8 code, u64 addr, u32 size, u32 type)
{
	const struct dep_word_set *w = s->scope->wanted;

	if (!s->all && !s->who[code] && size <= 64 && !dep_word_set_maybe(w, addr) &&
	    !dep_word_set_maybe(w, addr + size - 1))
		return false;
	return dep_filter_wanted(s, code, addr, size, type);
}

/* ---- shared by filter.c and hooked_functions.c ---- */

/** dep_filter_set_tags() - compute @s->tag */
void dep_filter_set_tags(struct dep_filter *s);
/** dep_filter_may_count() - can the instruction be a count, if its word is an atomic counter? */
bool dep_filter_may_count(const struct dep_filter *s, u32 how);
/** dep_filter_event() - muting has ended: handle the timestamp @unheard, if there is one */
void dep_filter_event(struct dep_filter *s, u32 unheard);

#endif
