/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which references of a thread need not be shown.
 *
 * Between two places where a thread can have synchronised, an access is needless after one of
 * the same bytes that conflicts with all that it conflicts with: whoever races with it races
 * with that one.  Nearly all accesses are, so they are left out where they come up, and not
 * carried to the detector.  Or only places are wanted that are known to matter.
 *
 * Always shown is what may order threads: what locked instructions access (of those that only
 * count, once in a turn), the words that they have been seen to access, the list of robust mutexes,
 * and the first access after a change between code that makes threads and the program's.  What
 * allocators and the dynamic loader access plainly never is.
 *
 * Where there are many, they are put off until the thread may synchronise, and shown joined: no
 * clock changes in between.  The first ones are shown one by one, and so are the last
 * reads, since who waits by reading is known by them.
 */
#ifndef ADEPT_RECOVER_FILTER_FILTER_H
#define ADEPT_RECOVER_FILTER_FILTER_H

#include "dep/recover.h"
#include "heap_blocks.h"
#include "atomic_counters.h"
#include "word_set.h"
#include "libdep/recover/program/program.h"
#include "access_set.h"

/* dep_ref.type: a plain write to a word of locked instructions; what follows is shown again. */
#define DEP_REF_RELEASES	0x100u
/* Of a locked instruction that is no turn, so it must not order. */
#define DEP_REF_COUNTS		0x400u

/**
 * struct dep_process_filter - what the threads of a process have in common
 * @code: whose code it is, enum dep_code; any number of threads at once, and the answer must
 *	be the same for as long as the store is open
 * @locked: words that locked instructions access; added to
 * @spin_words: words that somebody waited for in a loop of reads; added to
 * @counters: NULL: all locked instructions order
 * @wanted: NULL: of repeated accesses the first; else only those of these words
 * @singly: put nothing off
 * @interpret: recover without machine code, to compare
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

/* What is remembered of an access beside its place: who made it, or that it is not shown at all. */
enum {
	DEP_FILTER_PROGRAM,
	DEP_FILTER_LIBRARY,
	DEP_FILTER_THREADS,
	DEP_FILTER_MUTED = DEP_ORIGIN_IGNORED,
	DEP_FILTER_LOOK = 4,
};

/* In front of the last one all that was put off is to be taken, and shown. */
enum dep_filtered { DEP_FILTER_DROP, DEP_FILTER_EMIT, DEP_FILTER_FLUSH_THEN_EMIT };

#define DEP_FILTER_CODES	8u
/* A loop that reads the same this often, and nothing else, waits for another thread. */
#define DEP_FILTER_SPINS	8u
/* References of an interval that are emitted one by one.. */
#define DEP_FILTER_SINGLY	8u
/* ..and reads among the others that are, too */
#define DEP_FILTER_LAST		8u
/* dep_filter.quiet after a write */
#define DEP_FILTER_QUIET	(-(s32)DEP_FILTER_SPINS)

#define DEP_FILTER_ALL_OF_IT	(~0ull)

#define DEP_FILTER_COUNTED	8u
#define DEP_FILTER_NOTHING	(~0u)	/* is unheard */

#define DEP_FILTER_CALLS	16u	/* watched functions that it is in, and is known to be */

/** struct dep_filter_call - @sp: dep_call_values.sp; @code: whose it is */
struct dep_filter_call {
	u64 sp, size;
	u64 block;		/* the first argument; 0: not known */
	u16 function;
	u8 code;
	bool sized;		/* @size is known */
};

struct dep_ahead;

/** struct dep_filter - a thread's; its segments go through it one after the other */
struct dep_filter {
	const struct dep_process_filter *scope;
	u32 thread;		/* a number, not 0 */
	struct dep_access_set seen;
	u32 singly;		/* shown one by one in this turn, up to DEP_FILTER_SINGLY */
	u32 nlast, first;
	struct dep_ref last[DEP_FILTER_LAST];	/* reads that were put off; the next one: nlast % */
	u32 reads;		/* since the last write */
	s32 quiet;		/* records without a write: at 0 they are looked at, maybe */
	u32 wholly;		/* so many more are run by whole programs */
	u8 watched[256];	/* how often it was 0, by where that was */
	bool all;		/* in a locked instruction.. */
	bool counts;		/* ..which may be no turn.. */
	bool fence;		/* ..or makes no word one that orders */
	u32 unheard;		/* DEP_TK_* of one where it was muted, or DEP_FILTER_NOTHING */
	bool muted;		/* in a function that mutes */
	bool unsure;		/* it may be in others than.. */
	u32 ncalls;
	struct dep_filter_call call[DEP_FILTER_CALLS];
	struct dep_heap_sizes blocks;
	u64 fs;			/* the thread's control block */
	u8 who[DEP_FILTER_CODES];	/* by whose code it is; with DEP_FILTER_LOOK it is shown */
	u64 tag[DEP_FILTER_CODES];	/* dep_access_set_tag(); 0: it is shown */
	struct { u64 pc, at; u32 n; } spin;
	struct { u64 addr, turn; } counted[DEP_FILTER_COUNTED];	/* where, and when; by address */
	struct { u64 pc, timestamp; } held;	/* of one that counts; pc 0: none */
	u64 next_seq;		/* of the segment that is expected */
	u64 peeked;		/* of an item partly emitted, or about to be: its timestamps stay */
	bool timestamps_stay;
	struct dep_ahead *ahead;	/* its loader's */
};

/** dep_filter_init() - of @thread, not 0; 0 or -ENOMEM; dep_filter_free() in any case */
int dep_filter_init(struct dep_filter *s, const struct dep_process_filter *scope, u32 thread);
void dep_filter_free(struct dep_filter *s);
/** dep_filter_copy() - one that remembers nothing, for what comes once more; 0 or -ENOMEM */
int dep_filter_copy(struct dep_filter *to, const struct dep_filter *from);

/** dep_filter_new_interval() - the thread may have synchronised */
void dep_filter_new_interval(struct dep_filter *s);
/** dep_filter_reset() - something is missing, and where the thread is by now is not known */
void dep_filter_reset(struct dep_filter *s);
/** dep_filter_left() - nothing is known of functions that it may be in */
void dep_filter_left(struct dep_filter *s);
/** dep_filter_passes() - is what was put off to be taken before dep_filter_function()? */
bool dep_filter_passes(const struct dep_filter *s, const struct dep_function_call *f);
/**
 * dep_filter_function() - it enters a watched function, or comes from one
 * @code: enum dep_code of it
 *
 * Memory that it gets or frees is new; all else is a turn, but for what is done inside of an
 * allocator.
 *
 * Return: how many bytes of the freed block, or of the block whose size was reported, are new;
 * DEP_FILTER_ALL_OF_IT for all of them.
 */
u64 dep_filter_function(struct dep_filter *s, const struct dep_function_call *f, u8 code);
/**
 * dep_filter_locks() - is what was put off to be taken before dep_filter_timestamp()?
 * @code: enum dep_code of the instruction
 */
bool dep_filter_locks(const struct dep_filter *s, u32 how, u8 code);
/**
 * dep_filter_timestamp() - a timestamp of a locked instruction, which may be a turn; @how: DEP_TK_*
 */
void dep_filter_timestamp(struct dep_filter *s, u32 how);
/**
 * dep_filter_holds() - must the first timestamp of a locked instruction be held back?
 *
 * dep_filter_timestamp() has had it.  It must if the instruction counts, and may do so again and
 * again: until a reference of it is shown,
 * or for ever if the other timestamp comes before that. Where @s->timestamps_stay that is never so.
 */
bool dep_filter_holds(const struct dep_filter *s, u32 how, u8 code);
/** dep_filter_code() - enum dep_code of what is at @pc */
u8 dep_filter_code(const struct dep_filter *s, u64 pc);
/**
 * dep_filter_learn() - set dep_op.origin of all operations of @p, and make its filtered program
 *
 * Return: 0 or -ENOMEM.
 */
int dep_filter_learn(struct dep_filter *s, struct dep_program *p);
/**
 * dep_filter_defer() - is it enough to show this reference at the end of the turn?
 *
 * It is noted for that, if it is new.  Else dep_filter_first() is to be asked.
 */
bool dep_filter_defer(struct dep_filter *s, u8 code, const struct dep_ref *r);
/**
 * dep_filter_defer_near() - the same of references of one instruction or several, which are near
 * each other, where that is simple
 * @addr: of the lowest byte; @read: a bit for each byte from it on, of those that are only read
 * @wrote: and of those that are written
 *
 * Return: false if nothing was noted.
 */
bool dep_filter_defer_near(struct dep_filter *s, u8 code, u64 pc, u64 addr, u64 read, u64 wrote);
/**
 * dep_filter_flush() - what was put off, page by page, until there is none; false then
 * @out: with room for DEP_JOINED_WORDS
 */
bool dep_filter_flush(struct dep_filter *s, struct dep_page_accesses *out);
/** dep_filter_last() - the last reads among it once more, after all of it; false: no more */
bool dep_filter_last(struct dep_filter *s, struct dep_ref *r);
/** dep_filter_slowly() - dep_filter_first() for all that is not simple */
enum dep_filtered dep_filter_slowly(struct dep_filter *s, u8 code, struct dep_ref *r);
/**
 * dep_filter_watches() - is it worth a look whether somebody waits, in @fragment?
 *
 * The more often it was none of the rarer, but never without end.
 */
bool dep_filter_watches(struct dep_filter *s, u32 fragment);
/** dep_filter_wanted() - dep_filter_wants() where that cannot be said at once */
bool dep_filter_wanted(struct dep_filter *s, u8 code, u64 addr, u32 size, u32 type);
/** dep_filter_spin() - one of many reads without a write between them */
void dep_filter_spin(struct dep_filter *s, u64 pc, u64 addr, u32 size);

/** dep_filter_again() - has all of it been seen?  @size: 1 to DEP_ACCESS_SET_AT_ONCE */
static inline bool dep_filter_again(const struct dep_filter *s, u8 code, u64 addr, u32 size,
				    bool write)
{
	return dep_access_set_has(&s->seen, s->tag[code], addr, size, write);
}

/**
 * dep_filter_first() - is this reference to be shown, where the first ones are?
 *
 * If so, it may have become one that DEP_REF_RELEASES, after which dep_filter_new_interval() is
 * due.
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

/** dep_filter_wants() - is this reference to be shown, where some places are wanted? */
static inline bool dep_filter_wants(struct dep_filter *s, u8 code, u64 addr, u32 size, u32 type)
{
	const struct dep_word_set *w = s->scope->wanted;

	if (!s->all && !s->who[code] && size <= 64 && !dep_word_set_maybe(w, addr) &&
	    !dep_word_set_maybe(w, addr + size - 1))
		return false;
	return dep_filter_wanted(s, code, addr, size, type);
}

/* ---- between filter.c and hooked_functions.c ---- */

/** dep_filter_set_tags() - find anew what is looked up for whose code */
void dep_filter_set_tags(struct dep_filter *s);
/** dep_filter_may_count() - may it be no turn, if it accesses a word that is counted in? */
bool dep_filter_may_count(const struct dep_filter *s, u32 how);
/** dep_filter_event() - it is not muted any more, and what was @unheard goes on */
void dep_filter_event(struct dep_filter *s, u32 unheard);

#endif
