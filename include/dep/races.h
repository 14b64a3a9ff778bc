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

struct dep_symbols;

#define DEP_ACCESS_READ		0x1u
#define DEP_ACCESS_WRITE	0x2u
#define DEP_ACCESS_ATOMIC	0x4u	/* by a locked instruction */
#define DEP_ACCESS_SYSCALL	0x8u	/* by the kernel, for a system call */
#define DEP_ACCESS_FREE		0x10u	/* the memory was freed */
#define DEP_ACCESS_OBJECT	0x20u	/* pthread object used; with _WRITE: created or destroyed */
#define DEP_ACCESS_DESCRIPTOR	0x40u	/* file descriptor used; the address is its number */
/*
 * The load of a conditional move (cmov).  The load always happens, even if the source code loads
 * the variable only under the condition.  The recording does not contain the condition's value.
 */
#define DEP_ACCESS_CONDITIONAL	0x80u

enum dep_lock_kind { DEP_LOCK_MUTEX, DEP_LOCK_SPIN, DEP_LOCK_RW };

/** struct dep_held_lock - a pthread lock that a thread held */
struct dep_held_lock {
	enum dep_lock_kind kind;
	bool reading;		/* read-write lock that is held for reading */
	uint64_t address;
	/*
	 * Stack of the call that acquired the lock, or acquired it again after a condition wait;
	 * innermost first.
	 */
	const uint64_t *call;
	size_t ncalls;
	uint64_t block, block_size;	/* heap block that contains the lock; size 0: none */
};

/* Why the list of held locks may be incomplete. */
#define DEP_LOCK_LOST	0x1u	/* part of the thread's stream is missing */
#define DEP_LOCK_UNSEEN	0x2u	/* no lock functions were hooked, as in a static program */

/** struct dep_race_access - one of the two accesses of a race */
struct dep_race_access {
	uint32_t thread, tid;	/* the thread's serial number in the store, and its thread id */
	/* serial; differs from that of the other access if two processes share the memory */
	uint32_t process;
	uint32_t flags;		/* DEP_ACCESS_* */
	uint64_t pc;
	/*
	 * Stack of the access, innermost first: addresses of calls, of jumps that are tail calls
	 * (dep_races_options.leaves), and of instructions that a signal handler interrupted.
	 */
	const uint64_t *call;
	size_t ncalls;
	/* @call may lack callers, called before the recording or in a missing part of it */
	bool incomplete;
	/* Thread that created @thread (serial; 0: not known), and the stack of the creation. */
	uint32_t creator, creator_tid;
	const uint64_t *created;
	size_t ncreated;
	/*
	 * Pthread locks that the thread held, in the order in which it acquired them.  Locks that
	 * the program implements itself are not recognised, but the word at @own_address may be
	 * such a lock: the thread's last locked instruction outside of hooked functions (at
	 * @own_pc, 0: none) accessed this word.
	 */
	const struct dep_held_lock *held;
	size_t nheld;
	uint32_t held_missing;	/* DEP_LOCK_* */
	uint64_t own_pc, own_address;
};

/* Where a step ends in a witness, which is an order of execution that shows a predicted race. */
enum dep_step_end {
	DEP_STEP_ACCESS,	/* before the thread's access of the race */
	DEP_STEP_BEFORE,	/* before dep_step.call, which must wait for another thread */
	DEP_STEP_AFTER,		/* after dep_step.call has returned; the thread's last step */
};

#define DEP_STEP_CALLS		4	/* length of a stack in a step; unused entries are 0 */
#define DEP_STEP_SECTIONS	4	/* maximum number of critical sections listed in a step */

/** struct dep_step - one step of a witness: one thread runs up to a position */
struct dep_step {
	uint32_t thread, tid;
	enum dep_step_end end;
	uint64_t call[DEP_STEP_CALLS];
	/* number of critical sections begun in the step; @section has the last of them */
	uint64_t nsections;
	struct dep_section {
		uint64_t lock;
		bool reading;
		uint64_t call[DEP_STEP_CALLS];	/* stack of the call that acquires @lock */
	} section[DEP_STEP_SECTIONS];
};

/**
 * struct dep_race - all races of one pair of instructions
 *
 * The fields of both accesses describe their first occurrence.  access[0] came first in the
 * recording, but the program does not enforce this order.
 */
struct dep_race {
	uint32_t process;		/* serial of access[1]'s process; @address is valid in it */
	/*
	 * At least one of the two accesses is a plain access to a word that may be an atomic
	 * variable: another instruction accesses it with a lock prefix, a thread waited in a loop
	 * for it to change, or the debug information says that it is atomic.  The access may be
	 * an atomic load or store, which compilers turn into a plain instruction.
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
	uint64_t address, size;		/* the bytes that both accesses touched */
	uint64_t count;			/* occurrences counted; there may be more */
	struct dep_race_access access[2];
	/*
	 * Heap block that contains @address (size 0: none); thread and stack of its allocation.
	 */
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
	uint64_t disorder;	/* as in struct dep_analysis; not 0: processors' clocks differ */
	/* words found to be atomic only in the last pass; reports on them may be false */
	uint64_t unsettled;
	uint64_t references;
	bool again;		/* live analysis failed; the first pass was repeated afterwards */
	/* number of processes whose analysis ended early: too many threads or process images */
	uint64_t too_many_threads;
	uint64_t unpredicted;	/* number of processes without complete prediction */
	struct dep_held_lock *held;	/* storage of all dep_race_access.held arrays */
	void *own;
};

/* Origin of an access: the code that executed it. */
enum dep_code {
	DEP_CODE_PROGRAM,
	/* C library code that accesses memory on behalf of its caller, such as memcpy(). */
	DEP_CODE_CALLER,
	/*
	 * C library code that accesses the library's own data.  A race between two accesses of this
	 * origin is not reported.
	 */
	DEP_CODE_LIBRARY,
	/*
	 * C library code that creates and ends threads.  Its internal locks order its own accesses.
	 * They do not order accesses of the program, which must not rely on them.
	 */
	DEP_CODE_THREADS,
	/*
	 * The dynamic loader.  Its plain accesses are dropped: it writes data (relocations, say)
	 * that threads of the program read without a lock.
	 */
	DEP_CODE_LOADER,
};

/** struct dep_races_options - options of dep_races_find(); every member may be zero or NULL */
struct dep_races_options {
	bool predict;			/* also predict races that did not happen but can */
	unsigned int jobs;		/* recovery workers, 0 = one per processor */
	void (*progress)(size_t done, size_t all);
	/* Finds the callers of threads that were attached to; NULL: stacks lack these. */
	struct dep_symbols *symbols;
	/*
	 * Return true if the plain access at @pc may be compiled from an atomic access, or if
	 * @address is an atomic variable.  Called between passes, for the races found so far.
	 */
	bool (*is_atomic)(void *arg, uint32_t process, uint64_t pc, uint64_t address,
			  uint64_t size);
	/*
	 * Return true if the access at @pc is atomic in the source.  This alone does not make the
	 * variable atomic: a race is dropped only if both of its accesses are.  Called at the same
	 * times as is_atomic().
	 */
	bool (*says_atomic)(void *arg, uint32_t process, uint64_t pc);
	/*
	 * Return the origin of the code at @pc.  Called once or a few times for each pc, from any
	 * thread, but never at the same time as leaves() or found().
	 */
	enum dep_code (*code)(void *arg, uint32_t process, uint64_t pc);
	/*
	 * Return true if the jump from @from to @to enters another function (a tail call).  Without
	 * this callback, stacks lack functions that ended in a tail call.  Called like code().
	 */
	bool (*leaves)(void *arg, uint32_t process, uint64_t from, uint64_t to);
	/*
	 * Called for each suspected race as soon as the first pass finds it.  Later passes may find
	 * that it is not a race.  @race has no counts, threads or stacks yet.
	 */
	void (*found)(void *arg, const struct dep_race *race);
	void *arg;
	/* Analyze a store that is being written, as dep_analyze_live(); NULL: a complete store. */
	const struct dep_live_options *live;
};

/**
 * dep_races_find() - find the races in @store
 *
 * The first pass finds candidates; with @options->live it runs during the recording.  If there are
 * candidates, further passes over the store examine them.  A pass is repeated if it finds that a
 * word is atomic whose accesses it had treated as plain.
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
