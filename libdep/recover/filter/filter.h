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

/* Flag in dep_ref.type: a plain write to an atomic word, which begins a new interval. */
#define DEP_REF_RELEASES	0x100u
/* Flag in dep_ref.type: a locked instruction on an atomic counter, which orders nothing. */
#define DEP_REF_COUNTS		0x400u

/**
 * struct dep_process_filter - state that the filters of all threads of a process share
 * @code: callback, returns enum dep_code of a pc; several threads call it concurrently; its result
 *	for a pc must not change while the store is open
 * @locked: atomic words: words that locked instructions have accessed; filters add to this set
 * @spin_words: words that a thread waited for in a loop of reads; filters add to this set
 * @counters: atomic counters; NULL: treat all locked instructions as ordering threads
 * @wanted: emit only accesses to these words; NULL: emit the first accesses of an interval
 * @singly: never defer an access: emit or drop each one when recovery meets it
 * @interpret: run recovery programs by the interpreter only, without compiling them, to compare
 *	results
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

/*
 * Origin of an access in the access set.  DEP_FILTER_MUTED: accesses are never emitted.
 * DEP_FILTER_LOOK is a flag: emit the next access in any case, as it can change the origins.
 */
enum {
	DEP_FILTER_PROGRAM,
	DEP_FILTER_LIBRARY,
	DEP_FILTER_THREADS,
	DEP_FILTER_MUTED = DEP_ORIGIN_IGNORED,
	DEP_FILTER_LOOK = 4,
};

/* DEP_FILTER_FLUSH_THEN_EMIT: the caller emits all deferred accesses before this access. */
enum dep_filtered { DEP_FILTER_DROP, DEP_FILTER_EMIT, DEP_FILTER_FLUSH_THEN_EMIT };

#define DEP_FILTER_CODES	8u
/* A thread that reads the same word this often, and writes nothing, waits for another thread. */
#define DEP_FILTER_SPINS	8u
/* Number of references of an interval that are emitted immediately; later ones are deferred. */
#define DEP_FILTER_SINGLY	8u
/* Number of the last deferred reads that a flush also emits one by one. */
#define DEP_FILTER_LAST		8u
/* A record with a write sets dep_filter.quiet to this, which postpones checks for wait loops. */
#define DEP_FILTER_QUIET	(-(s32)DEP_FILTER_SPINS)

#define DEP_FILTER_ALL_OF_IT	(~0ull)

#define DEP_FILTER_COUNTED	8u
#define DEP_FILTER_NOTHING	(~0u)	/* value of dep_filter.unheard: no muted timestamp */

#define DEP_FILTER_CALLS	16u	/* nesting depth of hooked functions that is tracked */

/** struct dep_filter_call - an active call of a hooked function */
struct dep_filter_call {
	u64 sp, size;		/* stack pointer of the call; bytes that it allocates */
	u64 block;		/* the first argument; 0: unknown */
	u16 function;		/* enum dep_function */
	u8 code;		/* enum dep_code of the function */
	bool sized;		/* @size is known */
};

struct dep_ahead;

/** struct dep_filter - the filter of a thread; use it for the thread's segments in order */
struct dep_filter {
	const struct dep_process_filter *scope;
	u32 thread;		/* number of the thread, not 0 */
	struct dep_access_set seen;	/* bytes accessed in this interval */
	u32 singly;		/* number of references emitted immediately in this interval */
	u32 nlast, first;	/* number of reads put into last[]; index of the next one to emit */
	struct dep_ref last[DEP_FILTER_LAST];	/* ring of the last deferred reads */
	u32 reads;		/* number of reads since the last write */
	s32 quiet;		/* counts records without a write; at 0, check for a wait loop */
	u32 wholly;		/* number of next records that run the whole, unfiltered program */
	u8 watched[256];	/* number of checks for wait loops, by hash of the fragment */
	bool all;		/* inside a locked instruction: emit all references */
	bool counts;		/* the locked instruction may increment an atomic counter */
	bool fence;		/* the locked instruction is a fence: its word is no atomic word */
	u32 unheard;		/* flags DEP_TK_* of a muted timestamp, or DEP_FILTER_NOTHING */
	bool muted;		/* inside a hooked function whose accesses are dropped */
	bool unsure;		/* the thread may be in hooked functions that are not in call[] */
	u32 ncalls;
	struct dep_filter_call call[DEP_FILTER_CALLS];
	struct dep_heap_sizes blocks;
	u64 fs;			/* address of the thread's control block */
	u8 who[DEP_FILTER_CODES];	/* origin by enum dep_code; may have DEP_FILTER_LOOK */
	u64 tag[DEP_FILTER_CODES];	/* dep_access_set_tag() by enum dep_code; 0: no lookup */
	/* possible wait loop: pc and address of its read, number of repetitions */
	struct { u64 pc, at; u32 n; } spin;
	/* last increments of atomic counters, by address; interval of each */
	struct { u64 addr, turn; } counted[DEP_FILTER_COUNTED];
	/* withheld first timestamp of a locked instruction; pc 0: none */
	struct { u64 pc, timestamp; } held;
	u64 next_seq;		/* sequence number of the segment that must come next */
	u64 peeked;		/* sequence number of the segment whose prefix was analyzed early */
	bool timestamps_stay;	/* withhold no timestamps: emit all immediately */
	struct dep_ahead *ahead;	/* owned by the analyzer's segment loader */
};

/** dep_filter_init() - set up; 0 or -ENOMEM; dep_filter_free() in both cases; @thread: not 0 */
int dep_filter_init(struct dep_filter *s, const struct dep_process_filter *scope, u32 thread);
void dep_filter_free(struct dep_filter *s);
/** dep_filter_copy() - copy, with an empty access set, to recover data again; 0 or -ENOMEM */
int dep_filter_copy(struct dep_filter *to, const struct dep_filter *from);

/** dep_filter_new_interval() - begin an interval: the thread may have synchronised */
void dep_filter_new_interval(struct dep_filter *s);
/** dep_filter_reset() - begin an interval after missing data: the thread's calls are unknown */
void dep_filter_reset(struct dep_filter *s);
/** dep_filter_left() - assume that the active calls of hooked functions have ended */
void dep_filter_left(struct dep_filter *s);
/** dep_filter_passes() - must deferred accesses be flushed before dep_filter_function()? */
bool dep_filter_passes(const struct dep_filter *s, const struct dep_function_call *f);
/**
 * dep_filter_function() - the thread enters or leaves a hooked function
 * @code: enum dep_code of @f->pc
 *
 * Accesses to memory that the function allocates or frees are forgotten.  Any other call or return
 * begins an interval, except inside allocators and read-write locks.
 *
 * Return: the number of bytes that were forgotten, of the freed block or of the block whose size
 * was reported to the program; DEP_FILTER_ALL_OF_IT for all of them.
 */
u64 dep_filter_function(struct dep_filter *s, const struct dep_function_call *f, u8 code);
/**
 * dep_filter_locks() - must deferred accesses be flushed before dep_filter_timestamp()?
 * @code: enum dep_code of the instruction
 */
bool dep_filter_locks(const struct dep_filter *s, u32 how, u8 code);
/** dep_filter_timestamp() - process a timestamp of a locked instruction; @how: DEP_TK_* */
void dep_filter_timestamp(struct dep_filter *s, u32 how);
/**
 * dep_filter_holds() - must the first timestamp of a locked instruction be withheld?
 *
 * Call it after dep_filter_timestamp().  The first timestamp of an instruction that may increment
 * an atomic counter is withheld until a reference of the instruction is emitted.  If none has been
 * emitted at the second timestamp, both timestamps are dropped.  With @s->timestamps_stay no
 * timestamp is withheld.
 */
bool dep_filter_holds(const struct dep_filter *s, u32 how, u8 code);
/** dep_filter_code() - get the origin (enum dep_code) of the code at @pc */
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
 * dep_filter_defer_near() - defer or drop several references within 64 bytes, in simple cases
 * @addr: address of the lowest byte
 * @read: bit i: the byte at @addr + i is read, and not written
 * @wrote: bit i: the byte at @addr + i is written
 *
 * Return: false if nothing was done.
 */
bool dep_filter_defer_near(struct dep_filter *s, u8 code, u64 pc, u64 addr, u64 read, u64 wrote);
/**
 * dep_filter_flush() - get the deferred accesses of one page
 * @out: must have room for DEP_JOINED_WORDS words
 *
 * Return: false if no page has deferred accesses any more.
 */
bool dep_filter_flush(struct dep_filter *s, struct dep_page_accesses *out);
/** dep_filter_last() - after dep_filter_flush(), get one of the last reads; false: none is left */
bool dep_filter_last(struct dep_filter *s, struct dep_ref *r);
/** dep_filter_slowly() - slow path of dep_filter_first() */
enum dep_filtered dep_filter_slowly(struct dep_filter *s, u8 code, struct dep_ref *r);
/**
 * dep_filter_watches() - should @fragment be checked for a wait loop?
 *
 * It is true less and less often for the same fragment, down to every 64th call.
 */
bool dep_filter_watches(struct dep_filter *s, u32 fragment);
/** dep_filter_wanted() - slow path of dep_filter_wants() */
bool dep_filter_wanted(struct dep_filter *s, u8 code, u64 addr, u32 size, u32 type);
/** dep_filter_spin() - check a read for a wait loop, after many reads without a write */
void dep_filter_spin(struct dep_filter *s, u64 pc, u64 addr, u32 size);

/** dep_filter_again() - is an access redundant?  @size: 1 to DEP_ACCESS_SET_AT_ONCE bytes */
static inline bool dep_filter_again(const struct dep_filter *s, u8 code, u64 addr, u32 size,
				    bool write)
{
	return dep_access_set_has(&s->seen, s->tag[code], addr, size, write);
}

/**
 * dep_filter_first() - decide about a reference, in the mode that emits first accesses
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

/** dep_filter_set_tags() - compute @s->tag from the origins and @s->muted */
void dep_filter_set_tags(struct dep_filter *s);
/**
 * dep_filter_may_count() - can a locked instruction be the increment of an atomic counter?
 * @how: DEP_TK_* of the instruction
 */
bool dep_filter_may_count(const struct dep_filter *s, u32 how);
/** dep_filter_event() - when muting ends, process the muted timestamp @unheard, if there is one */
void dep_filter_event(struct dep_filter *s, u32 unheard);

#endif
