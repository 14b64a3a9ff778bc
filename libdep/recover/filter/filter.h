/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which references of a thread need not be shown.
 *
 * Between two places where a thread can have synchronised, an access is needless behind one of
 * the same bytes that conflicts with all that it conflicts with: whoever races with it races
 * with that one.  Nearly all accesses are, so they are left out where they come up, and not
 * carried to the detector.  Or only places are wanted that are known to matter.
 *
 * Always shown is what may order threads: what locked instructions access (of those that only
 * count, once in a turn), the words that they have been seen to access, the list of robust mutexes,
 * and the first access behind a change between code that makes threads and the program's.  What
 * allocators and the dynamic loader access plainly never is.
 *
 * Where there are many, they are put off until the thread may synchronise, and shown joined: no
 * clock changes in between.  The first ones are shown one by one, and so are the last
 * reads, since who waits by reading is known by them.
 */
#ifndef DEP_RECOVER_SIEVE_H
#define DEP_RECOVER_SIEVE_H

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
 * struct dep_scope - what the threads of a process have in common
 * @code: whose code it is, enum dep_code; any number of threads at once, and the answer must
 *	be the same for as long as the store is open
 * @locked: words that locked instructions access; added to
 * @spun: words that somebody waited for in a loop of reads; added to
 * @counters: NULL: all locked instructions order
 * @wanted: NULL: of repeated accesses the first; else only those of these words
 * @singly: put nothing off
 * @interpret: recover without machine code, to compare
 */
struct dep_scope {
	u32 process;
	u8 (*code)(void *arg, u32 process, u64 pc);
	void *arg;
	struct dep_places *locked, *spun;
	struct dep_counters *counters;
	const struct dep_places *wanted;
	bool singly;
	bool interpret;
};

/* What is remembered of an access beside its place: who made it, or that it is not shown at all. */
enum {
	DEP_SIEVE_PROGRAM, DEP_SIEVE_LIBRARY, DEP_SIEVE_THREADS, DEP_SIEVE_MUTED = DEP_SEEN_ALWAYS,
	DEP_SIEVE_LOOK = 4,
};

/* In front of the last one all that was put off is to be taken, and shown. */
enum dep_sieved { DEP_SIEVED_OUT, DEP_SIEVED_SHOW, DEP_SIEVED_SHOW_BEHIND };

#define DEP_SIEVE_CODES	8u
#define DEP_SIEVE_SPINS	8u		/* who reads the same so often in vain, waits */
#define DEP_SIEVE_SINGLY	8u		/* references of a turn that are shown one by one */
#define DEP_SIEVE_LAST	8u		/* reads among the others that are so, too */
#define DEP_SIEVE_QUIET	(-(s32)DEP_SIEVE_SPINS)	/* dep_sieve.quiet behind a write */

#define DEP_SIEVE_ALL_OF_IT	(~0ull)

#define DEP_SIEVE_COUNTED	8u
#define DEP_SIEVE_NOTHING	(~0u)	/* is unheard */

#define DEP_SIEVE_CALLS	16u	/* watched functions that it is in, and is known to be */

/** struct dep_sieve_call - @sp: dep_passed.sp; @code: whose it is */
struct dep_sieve_call {
	u64 sp, size;
	u64 block;		/* the first argument; 0: not known */
	u16 function;
	u8 code;
	bool sized;		/* @size is known */
};

struct dep_ahead;

/** struct dep_sieve - a thread's; its segments go through it one behind the other */
struct dep_sieve {
	const struct dep_scope *scope;
	u32 thread;		/* a number, not 0 */
	struct dep_seen seen;
	u32 singly;		/* shown one by one in this turn, up to DEP_SIEVE_SINGLY */
	u32 nlast, first;
	struct dep_ref last[DEP_SIEVE_LAST];	/* reads that were put off; the next one: nlast % */
	u32 reads;		/* since the last write */
	s32 quiet;		/* records without a write: at 0 they are looked at, maybe */
	u32 wholly;		/* so many more are run by whole programs */
	u8 watched[256];	/* how often it was 0, by where that was */
	bool all;		/* in a locked instruction.. */
	bool counts;		/* ..which may be no turn.. */
	bool fence;		/* ..or makes no word one that orders */
	u32 unheard;		/* DEP_TK_* of one where it was muted, or DEP_SIEVE_NOTHING */
	bool muted;		/* in a function that mutes */
	bool unsure;		/* it may be in others than.. */
	u32 ncalls;
	struct dep_sieve_call call[DEP_SIEVE_CALLS];
	struct dep_blocks blocks;
	u64 fs;			/* the thread's control block */
	u8 who[DEP_SIEVE_CODES];	/* by whose code it is; with DEP_SIEVE_LOOK it is shown */
	u64 tag[DEP_SIEVE_CODES];	/* dep_seen_tag(); 0: it is shown */
	struct { u64 pc, at; u32 n; } spin;
	struct { u64 addr, turn; } counted[DEP_SIEVE_COUNTED];	/* where, and when; by address */
	struct { u64 pc, ticket; } held;	/* of one that counts; pc 0: none */
	u64 next_seq;		/* of the segment that is expected */
	u64 peeked;		/* of one that was shown in part, or was to be: its tickets stay */
	bool tickets_stay;
	struct dep_ahead *ahead;	/* its loader's */
};

/** dep_sieve_init() - of @thread, not 0; 0 or -ENOMEM; dep_sieve_free() in any case */
int dep_sieve_init(struct dep_sieve *s, const struct dep_scope *scope, u32 thread);
void dep_sieve_free(struct dep_sieve *s);
/** dep_sieve_copy() - one that remembers nothing, for what comes once more; 0 or -ENOMEM */
int dep_sieve_copy(struct dep_sieve *to, const struct dep_sieve *from);

/** dep_sieve_turn() - the thread may have synchronised */
void dep_sieve_turn(struct dep_sieve *s);
/** dep_sieve_lost() - something is missing, and where the thread is by now is not known */
void dep_sieve_lost(struct dep_sieve *s);
/** dep_sieve_left() - nothing is known of functions that it may be in */
void dep_sieve_left(struct dep_sieve *s);
/** dep_sieve_passes() - is what was put off to be taken before dep_sieve_function()? */
bool dep_sieve_passes(const struct dep_sieve *s, const struct dep_function_call *f);
/**
 * dep_sieve_function() - it enters a watched function, or comes from one
 * @code: enum dep_code of it
 *
 * Memory that it gets or frees is new; all else is a turn, but for what is done inside of an
 * allocator.
 *
 * Return: so many bytes of the block that it frees are new, or that it was told the size of; or
 * all of them.
 */
u64 dep_sieve_function(struct dep_sieve *s, const struct dep_function_call *f, u8 code);
/**
 * dep_sieve_locks() - is what was put off to be taken before dep_sieve_ticket()?
 * @code: enum dep_code of the instruction
 */
bool dep_sieve_locks(const struct dep_sieve *s, u32 how, u8 code);
/** dep_sieve_ticket() - a ticket of a locked instruction, which may be a turn; @how: DEP_TK_* */
void dep_sieve_ticket(struct dep_sieve *s, u32 how);
/**
 * dep_sieve_holds() - is the first ticket, which dep_sieve_ticket() was told of, to be held back?
 *
 * That is so of one that counts, and may do so again and again: until a reference of it is shown,
 * or for ever if the other ticket comes before that.  Where @s->tickets_stay that is never so.
 */
bool dep_sieve_holds(const struct dep_sieve *s, u32 how, u8 code);
/** dep_sieve_code() - enum dep_code of what is at @pc */
u8 dep_sieve_code(const struct dep_sieve *s, u64 pc);
/** dep_sieve_learn() - set dep_op.whose of all operations of @p, and make it lean; 0 or -ENOMEM */
int dep_sieve_learn(struct dep_sieve *s, struct dep_program *p);
/**
 * dep_sieve_later() - is it enough to show this reference at the end of the turn?
 *
 * It is noted for that, if it is new.  Else dep_sieve_first() is to be asked.
 */
bool dep_sieve_later(struct dep_sieve *s, u8 code, const struct dep_ref *r);
/**
 * dep_sieve_later_near() - the same of references of one instruction or several, which are near
 * each other, where that is simple
 * @addr: of the lowest byte; @read: a bit for each byte from it on, of those that are only read
 * @wrote: and of those that are written
 *
 * Return: false if nothing was noted.
 */
bool dep_sieve_later_near(struct dep_sieve *s, u8 code, u64 pc, u64 addr, u64 read, u64 wrote);
/**
 * dep_sieve_take() - what was put off, page by page, until there is none; false then
 * @out: with room for DEP_JOINED_WORDS
 */
bool dep_sieve_take(struct dep_sieve *s, struct dep_joined *out);
/** dep_sieve_last() - the last reads among it once more, behind all of it; false: no more */
bool dep_sieve_last(struct dep_sieve *s, struct dep_ref *r);
/** dep_sieve_slowly() - dep_sieve_first() for all that is not simple */
enum dep_sieved dep_sieve_slowly(struct dep_sieve *s, u8 code, struct dep_ref *r);
/**
 * dep_sieve_watches() - is it worth a look whether somebody waits, in @fragment?
 *
 * The more often it was none of the rarer, but never without end.
 */
bool dep_sieve_watches(struct dep_sieve *s, u32 fragment);
/** dep_sieve_wanted() - dep_sieve_wants() where that cannot be said at once */
bool dep_sieve_wanted(struct dep_sieve *s, u8 code, u64 addr, u32 size, u32 type);
/** dep_sieve_spin() - one of many reads without a write between them */
void dep_sieve_spin(struct dep_sieve *s, u64 pc, u64 addr, u32 size);

/** dep_sieve_again() - has all of it been seen?  @size: 1 to DEP_SEEN_AT_ONCE */
static inline bool dep_sieve_again(const struct dep_sieve *s, u8 code, u64 addr, u32 size,
				   bool write)
{
	return dep_seen_has(&s->seen, s->tag[code], addr, size, write);
}

/**
 * dep_sieve_first() - is this reference to be shown, where the first ones are?
 *
 * If so, it may have become one that DEP_REF_RELEASES, behind which dep_sieve_turn() is due.
 */
static inline enum dep_sieved dep_sieve_first(struct dep_sieve *s, u8 code, struct dep_ref *r)
{
	if (r->type & DEP_WRITE)
		s->reads = 0;
	else if (++s->reads > DEP_SIEVE_SPINS)
		dep_sieve_spin(s, r->pc, r->addr, r->size);
	if (s->all || r->size - 1 >= DEP_SEEN_AT_ONCE ||
	    !dep_sieve_again(s, code, r->addr, r->size, r->type & DEP_WRITE))
		return dep_sieve_slowly(s, code, r);
	return DEP_SIEVED_OUT;
}

/** dep_sieve_wants() - is this reference to be shown, where some places are wanted? */
static inline bool dep_sieve_wants(struct dep_sieve *s, u8 code, u64 addr, u32 size, u32 type)
{
	const struct dep_places *w = s->scope->wanted;

	if (!s->all && !s->who[code] && size <= 64 && !dep_places_maybe(w, addr) &&
	    !dep_places_maybe(w, addr + size - 1))
		return false;
	return dep_sieve_wanted(s, code, addr, size, type);
}

/* ---- between filter.c and hooked_functions.c ---- */

/** dep_sieve_set_tags() - find anew what is looked up for whose code */
void dep_sieve_set_tags(struct dep_sieve *s);
/** dep_sieve_may_count() - may it be no turn, if it accesses a word that is counted in? */
bool dep_sieve_may_count(const struct dep_sieve *s, u32 how);
/** dep_sieve_hear() - it is not muted any more, and what was @unheard goes on */
void dep_sieve_hear(struct dep_sieve *s, u32 unheard);

#endif
