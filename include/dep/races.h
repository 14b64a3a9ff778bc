/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Data races: pairs of accesses by two threads to the same byte, at least one of them a write,
 * that no synchronisation orders.
 */
#ifndef DEP_RACES_H
#define DEP_RACES_H

#include "analyze.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define DEP_ACCESS_READ		0x1u
#define DEP_ACCESS_WRITE	0x2u
#define DEP_ACCESS_ATOMIC	0x4u	/* by a locked instruction */
#define DEP_ACCESS_SYSCALL	0x8u	/* by the kernel, for a system call */
#define DEP_ACCESS_FREE		0x10u	/* the memory was freed */
#define DEP_ACCESS_OBJECT	0x20u	/* use of a pthread object; write: creates or destroys it */
#define DEP_ACCESS_DESCRIPTOR	0x40u	/* use of a file descriptor; address is its number */
/*
 * The load of a conditional move (cmov).  Whether its condition held is not recorded.  A compiler
 * can emit such a load where the source loads only under the condition.
 */
#define DEP_ACCESS_CONDITIONAL	0x80u

enum dep_lock_kind { DEP_LOCK_MUTEX, DEP_LOCK_SPIN, DEP_LOCK_RW };

/** struct dep_held_lock - a pthread lock that a thread held */
struct dep_held_lock {
	enum dep_lock_kind kind;
	bool reading;		/* a read-write lock that is held for reading */
	uint64_t address;
	/* Stack of the call that took it, or that took it again after a condition wait; innermost
	 * first. */
	const uint64_t *call;
	size_t ncalls;
	uint64_t block, block_size;	/* allocated block that contains it; size 0: none */
};

/* Why the list of held locks may be incomplete. */
#define DEP_LOCK_LOST	0x1u	/* part of the thread's stream is missing */
#define DEP_LOCK_UNSEEN	0x2u	/* lock functions were not hooked: a static program, say */

/** struct dep_race_access - one of the two accesses of a race */
struct dep_race_access {
	uint32_t thread, tid;	/* thread: serial */
	uint32_t process;	/* serial; the two accesses differ if processes share memory */
	uint32_t flags;		/* DEP_ACCESS_* */
	uint64_t pc;
	/*
	 * Stack, innermost first: addresses of calls, and of jumps by which a function ended in a
	 * tail call (options.leaves).
	 */
	const uint64_t *call;
	size_t ncalls;
	/* Thread that created this one (serial; 0: not known), and the stack of the creation. */
	uint32_t creator, creator_tid;
	const uint64_t *created;
	size_t ncreated;
	/*
	 * Pthread locks that the thread held, in the order in which it took them.  Other locks are
	 * not recognised.  A candidate for one is the word at @own_address: the last locked
	 * instruction of the thread outside of hooked functions (at @own_pc, 0: none) accessed it.
	 */
	const struct dep_held_lock *held;
	size_t nheld;
	uint32_t held_missing;	/* DEP_LOCK_* */
	uint64_t own_pc, own_address;
};

/* Where a step of a witness ends. */
enum dep_step_end {
	DEP_STEP_ACCESS,	/* before the thread's access of the race */
	DEP_STEP_BEFORE,	/* before @call, which must wait for another thread */
	DEP_STEP_AFTER,		/* after @call; the witness needs no more of this thread */
};

#define DEP_STEP_CALLS		4	/* addresses, the innermost first; 0: no more */
#define DEP_STEP_SECTIONS	4

/** struct dep_step - one step of a witness: one thread runs up to a position */
struct dep_step {
	uint32_t thread, tid;
	enum dep_step_end end;
	uint64_t call[DEP_STEP_CALLS];
	uint64_t nsections;		/* critical sections begun in the step; the last ones: */
	struct dep_section {
		uint64_t lock;
		bool reading;
		uint64_t call[DEP_STEP_CALLS];	/* where the lock is taken */
	} section[DEP_STEP_SECTIONS];
};

/**
 * struct dep_race - all races of one pair of instructions
 *
 * The fields of both accesses describe their first occurrence.  access[0] came first in the
 * recording, but the program does not enforce this order.
 */
struct dep_race {
	uint32_t process;		/* serial: of access[1]; @address is one of its addresses */
	/*
	 * One of the two is a plain access to a word that may be atomic: another instruction
	 * accesses it with a lock prefix, a thread waited in a loop for it to change, or the debug
	 * information says so.  Compilers turn atomic loads and stores into plain instructions.
	 */
	bool maybe_atomic;
	/*
	 * The race did not happen in the recorded order, but it can happen in the order of @step,
	 * the witness.  Up to the two accesses each thread does the same as in the recording.
	 */
	bool predicted;
	struct dep_step *step;
	size_t nsteps;
	uint64_t more_steps;		/* steps left out between the end of @step and the race */
	uint64_t address, size;		/* bytes that both accessed */
	uint64_t count;			/* lower bound of the number of occurrences */
	struct dep_race_access access[2];
	/* Allocated block that contains it, thread and stack of the allocation; size 0: none. */
	uint64_t block, block_size;
	uint32_t owner, owner_tid;
	const uint64_t *allocated;
	size_t nallocated;
};

/** struct dep_races - races found, in the order in which they happened; dep_races_free() */
struct dep_races {
	struct dep_race *race;
	size_t n;
	uint64_t gaps;		/* as in struct dep_analysis */
	uint64_t disorder;	/* as in struct dep_analysis: the processors' clocks differ */
	/* Words found to be atomic after the last pass: their reports may be wrong. */
	uint64_t unsettled;
	uint64_t references;
	bool again;		/* live analysis failed; the first pass was repeated afterwards */
	uint64_t too_many_threads;	/* processes abandoned at the limit of threads or images */
	uint64_t unpredicted;	/* processes that prediction analysed in part or not at all */
	struct dep_held_lock *held;	/* storage of the lists of all accesses */
	void *own;
};

/* Origin of an access: the code that executed it. */
enum dep_code {
	DEP_CODE_PROGRAM,
	/* C library code that accesses memory on behalf of its caller, such as memcpy(). */
	DEP_CODE_CALLER,
	/* Other C library code.  A race between two accesses of this origin is not reported. */
	DEP_CODE_LIBRARY,
	/*
	 * The C library's creation and end of threads.  Its internal locks order its own accesses,
	 * but the program must not rely on that order, so they do not order the program's.
	 */
	DEP_CODE_THREADS,
	/* The dynamic loader.  It changes data that others read; its plain accesses are dropped. */
	DEP_CODE_LOADER,
};

/** struct dep_races_options - options of dep_races_find(); zero and NULL are valid everywhere */
struct dep_races_options {
	bool predict;			/* also predict races that did not happen but can */
	unsigned int jobs;		/* as in dep_analyze() */
	void (*progress)(size_t done, size_t all);
	/*
	 * Whether the plain access at @pc may be compiled from an atomic one, or @address is an
	 * atomic variable.  Called for races, between passes.
	 */
	bool (*is_atomic)(void *arg, uint32_t process, uint64_t pc, uint64_t address,
			  uint64_t size);
	/*
	 * Whether the access at @pc is atomic in the source.  This does not make the variable
	 * atomic: both accesses of a race must be.  Called as is_atomic() is.
	 */
	bool (*says_atomic)(void *arg, uint32_t process, uint64_t pc);
	/*
	 * Origin of the code at @pc.  Called once or a few times for each pc, never at the same
	 * time as leaves() or found().
	 */
	enum dep_code (*code)(void *arg, uint32_t process, uint64_t pc);
	/*
	 * Whether the jump from @from to @to enters another function.  Without it, stacks lack
	 * functions that end in a tail call.  Called as code() is.
	 */
	bool (*leaves)(void *arg, uint32_t process, uint64_t from, uint64_t to);
	/*
	 * Called for each suspected race as soon as the first pass finds it.  Later passes may
	 * refute it.  It has no counts, threads or stacks yet.
	 */
	void (*found)(void *arg, const struct dep_race *race);
	void *arg;
	/* Live analysis of a store that is being written (dep_analyze_live()); NULL: complete. */
	const struct dep_live_options *live;
};

/**
 * dep_races_find() - find the races in @store
 *
 * The first pass finds candidates; with @options->live it runs during the recording.  If it
 * finds any, further passes over the store follow, and are repeated when a word turns out to be
 * atomic after accesses to it were taken for plain.
 *
 * Return: 0, or a negative errno with dep_error().  -EOPNOTSUPP: live analysis is not possible,
 * see dep_analyze_live().
 */
int dep_races_find(struct dep_store *store, const struct dep_races_options *options,
		   struct dep_races *out);
void dep_races_free(struct dep_races *r);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
