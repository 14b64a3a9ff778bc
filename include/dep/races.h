/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Data races: pairs of accesses of two threads to the same memory, one of them a write,
 * that nothing orders.
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
#define DEP_ACCESS_FREE		0x10u	/* the memory was given back */
#define DEP_ACCESS_OBJECT	0x20u	/* use of an object of pthreads; writes make or end it */
#define DEP_ACCESS_DESCRIPTOR	0x40u	/* of a descriptor; address is its number */
/*
 * A load whose value is used under a condition (cmov), of which nobody knows whether it held.
 * Compilers make such loads where the program loads only under that condition.
 */
#define DEP_ACCESS_CONDITIONAL	0x80u

enum dep_lock_kind { DEP_LOCK_MUTEX, DEP_LOCK_SPIN, DEP_LOCK_RW };

/** struct dep_held_lock - a lock of pthreads that a thread held */
struct dep_held_lock {
	enum dep_lock_kind kind;
	bool reading;		/* a read-write lock, for reading */
	uint64_t address;
	/* Where it was taken, or a wait for a condition took it again; innermost first. */
	const uint64_t *call;
	size_t ncalls;
	uint64_t block, block_size;	/* the allocated block that it is in; size 0: in none */
};

/* What is not known of the locks. */
#define DEP_LOCK_LOST	0x1u	/* part of what the thread did */
#define DEP_LOCK_UNSEEN	0x2u	/* calls of functions: the program is linked statically, say */

/** struct dep_race_access - one of the two */
struct dep_race_access {
	uint32_t thread, tid;	/* serial */
	uint32_t process;	/* serial; not the other one's, if they share memory */
	uint32_t flags;		/* DEP_ACCESS_* */
	uint64_t pc;
	/*
	 * Where that was called from, the innermost first: addresses of the calls, and of the jumps
	 * that functions ended with (options.leaves).
	 */
	const uint64_t *call;
	size_t ncalls;
	/* Who created the thread (serial; 0: not known), and where: as above. */
	uint32_t creator, creator_tid;
	const uint64_t *created;
	size_t ncreated;
	/*
	 * Locks that the thread held, the first taken first.  Others than those of pthreads are not
	 * known as such: what may have been one is the word at @own_address, which the last locked
	 * instruction of the thread's own (at @own_pc, 0: none) changed.
	 */
	const struct dep_held_lock *held;
	size_t nheld;
	uint32_t held_missing;	/* DEP_HELD_* */
	uint64_t own_pc, own_address;
};

enum dep_step_end {
	DEP_STEP_ACCESS,	/* it ends in front of the thread's access.. */
	DEP_STEP_BEFORE,	/* ..in front of @call, which has to wait for another thread.. */
	DEP_STEP_AFTER,	/* ..after @call; more is not needed */
};

#define DEP_STEP_CALLS		4	/* addresses, the innermost first; 0: no more */
#define DEP_STEP_SECTIONS	4

/** struct dep_step - a thread goes on, alone, up to where */
struct dep_step {
	uint32_t thread, tid;
	enum dep_step_end end;
	uint64_t call[DEP_STEP_CALLS];
	uint64_t nsections;		/* critical sections that it begins, and the last of them */
	struct dep_section {
		uint64_t lock;
		bool reading;
		uint64_t call[DEP_STEP_CALLS];	/* where the lock is taken */
	} section[DEP_STEP_SECTIONS];
};

/**
 * struct dep_race - all races of one pair of places
 *
 * What is said of accesses is of their first occurrence.  access[0] came first, but the
 * program does not make it so.
 */
struct dep_race {
	uint32_t process;		/* serial: of access[1], whose the address is */
	/*
	 * One of the two is a plain access to a word that may be atomic, since compilers make
	 * atomic loads and stores of those: others access it by locked instructions, or a thread
	 * waited in a loop for it to change, or the program's debug information says so.
	 */
	bool maybe_atomic;
	/*
	 * It did not happen in the order of the recording, but can in that of these steps, in which
	 * each thread does what it did, up to the two accesses.
	 */
	bool predicted;
	struct dep_step *step;
	size_t nsteps;
	uint64_t more_steps;		/* that are left out, at the end but for the accesses */
	uint64_t address, size;		/* what both accessed */
	uint64_t count;			/* at least */
	struct dep_race_access access[2];
	/* The allocated block that it is in, who asked for it, and where; size 0: in none. */
	uint64_t block, block_size;
	uint32_t owner, owner_tid;
	const uint64_t *allocated;
	size_t nallocated;
};

/** struct dep_races - what was found, in the order in which it happened */
struct dep_races {
	struct dep_race *race;
	size_t n;
	uint64_t gaps;		/* windows of which nothing is known */
	uint64_t disorder;	/* as of struct dep_analysis: the processors' clocks differ */
	/* Words that turned out to be atomic too late: what is said of them may be wrong. */
	uint64_t unsettled;
	uint64_t references;
	bool again;		/* the pass beside the recording had to be made again after it */
	uint64_t too_many_threads;	/* processes not followed to their end for that */
	uint64_t unpredicted;	/* processes of which prediction did not look at all */
	struct dep_held_lock *held;	/* of all accesses */
	void *own;
};

/* Whose code it is. */
enum dep_code {
	DEP_CODE_PROGRAM,
	/* The C library's, but what it accesses is its caller's: memcpy() and the like. */
	DEP_CODE_CALLER,
	/* The C library's own: its data are its own business, if it accesses them on both sides. */
	DEP_CODE_LIBRARY,
	/*
	 * Where the C library makes and ends threads.  It locks what is its own there, which
	 * orders its threads but is no reason why the program's should be.
	 */
	DEP_CODE_THREADS,
	/* The loader's, which changes what others read, and knows when: left out. */
	DEP_CODE_LOADER,
};

/** struct dep_races_options - all may be zero */
struct dep_races_options {
	bool predict;			/* also races that did not happen, but can */
	unsigned int jobs;		/* as of dep_analyze().. */
	void (*progress)(size_t done, size_t all);
	/*
	 * Is the plain access at @pc one of those that compilers make of atomic ones, or what
	 * is at @address an atomic variable?  Asked for races between passes.
	 */
	bool (*is_atomic)(void *arg, uint32_t process, uint64_t pc, uint64_t address,
			  uint64_t size);
	/*
	 * Is the access at @pc an atomic one, by what is known of its source?  That says nothing of
	 * the variable: both accesses of a race must be.  Asked as the former.
	 */
	bool (*says_atomic)(void *arg, uint32_t process, uint64_t pc);
	/* Called once or a few times for each pc; never at the same time as leaves() or found(). */
	enum dep_code (*code)(void *arg, uint32_t process, uint64_t pc);
	/*
	 * Is the code at @to, to which the program jumped at @from, another function's?  Without
	 * it, functions that end with such a jump are missing in stacks.  Called as code() is.
	 */
	bool (*leaves)(void *arg, uint32_t process, uint64_t from, uint64_t to);
	/*
	 * Called for each race as soon as the first pass has met it; the ones that follow may show
	 * that it is none.  It has no counts, threads or stacks yet.
	 */
	void (*found)(void *arg, const struct dep_race *race);
	void *arg;
	/* The store is being written (dep_analyze_live()); NULL: it is complete. */
	const struct dep_live_options *beside;
};

/**
 * dep_races_find() - find the races that are in @store
 *
 * Goes over the store twice if there are any, and again when it learns too late that a
 * word is atomic; if it is being written the first time is beside the recording.
 *
 * Return: 0, or a negative errno with dep_error(); -EOPNOTSUPP: it cannot be followed.
 */
int dep_races_find(struct dep_store *store, const struct dep_races_options *options,
		   struct dep_races *out);
void dep_races_free(struct dep_races *r);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
