/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From recovered items to what the detector is told: accesses, and what orders threads.
 *
 * Order comes from what the profile has of it: locked instructions, whose words acquire
 * and release; plain loads and stores of such words, loads as late as they can have been
 * and stores as early, so that no order is missing that there was; system calls; the
 * creation and the end of threads, and the word that the kernel clears then.  So locks,
 * conditions, barriers and the rest need not be known by name: they are made of these.
 */
#ifndef DEP_RACES_FEED_H
#define DEP_RACES_FEED_H

#include "../../../include/dep/races.h"
#include "../../abi/descriptor.h"
#include "files.h"
#include "objects.h"
#include "../races/rows.h"

/* Flags of accesses, beside the detector's. */
#define RACE_MAYBE_ATOMIC	RACE_USER1	/* plain, of a word that others access locked */

#define RACE_BATCH	256u
#define RACE_CODES	4096u	/* places of which it is remembered whose code they are */

/** struct race_words - words that are known to be atomic, from one pass to the next */
struct race_words {
	struct { u32 process; u64 word; } *v;
	size_t n, room;
};

struct race_process;

/** struct race_thread - a recorded thread */
struct race_thread {
	struct race_process *process;
	u32 serial, tid, index;		/* the detector's */
	struct race_feed *feed;
	bool begun, ended;
	bool in_library;	/* making or ending a thread; see DEP_CODE_THREADS */
	/* The locked instruction at hand. */
	bool locked, wrote;
	u64 locked_pc, locked_at;
	u32 locked_size;
	/* Where it was called from; kept in a pass with wanted stacks only. */
	struct { u64 pc, sp; } *stack;
	u32 depth, stack_room;
	/* The read that it repeats, without a store in between, and how often. */
	u64 spin_pc, spin_at;
	u32 spins;
	struct race_ref ref[RACE_BATCH];
	u32 nrefs;
};

/** struct race_process - a process image, in which addresses mean one thing */
struct race_process {
	struct race_process *next;
	u32 serial;
	struct { u64 pc; u32 code; } code[RACE_CODES];	/* enum dep_code; by a hash of pc */
	struct race_detector *detector;
	struct race_objects objects;
	struct race_files files;
	u32 signal_file;	/* that which signalfd() makes; 0: none yet */
	struct race_rows *rows;
	struct { u32 tid, index; u64 child_tid; } *child;	/* created and not yet begun */
	u32 nchildren, children_room;
	struct { u64 start, size; } *stack;	/* mapped for stacks */
	u32 nstacks, stacks_room;
};

/** struct race_stack - a wanted stack: of the access of @pc in this interval of a thread */
struct race_stack {
	struct race_process *process;	/* of the pass at hand */
	u32 process_serial, index;
	u64 epoch, pc, address;
	u32 size;
	u32 thread, tid;		/* found: serial and tid */
	u64 *frame;			/* return addresses, innermost first */
	u32 nframes;
	bool found;
};

struct race_feed {
	const struct dep_races_options *options;
	struct race_process *processes;
	struct race_thread **thread;	/* by serial */
	size_t nthreads;
	struct race_words *words;	/* of earlier passes; what this one learns is added */
	size_t nknown;			/* of @words: known from the beginning */
	struct race_stack *want;
	size_t nwant;
	int err;
};

/** race_feed_items() - struct dep_analyzer.items of a struct race_feed */
ssize_t race_feed_items(void *self, const struct dep_thread *t, const struct dep_item *items,
			size_t n, bool late);
int race_feed_gap(void *self, const struct dep_thread *t);
int race_feed_end(void *self, const struct dep_thread *t);
void race_feed_free(struct race_feed *f);

/* ---- for calls.c ---- */

/** race_feed_flush() - tell the detector of the accesses that are waiting */
int race_feed_flush(struct race_thread *t);
/** race_feed_access() - one more access */
int race_feed_access(struct race_thread *t, u64 pc, u64 address, u64 size, u32 flags);
int race_feed_acquire(struct race_thread *t, enum race_kind kind, u64 id);
int race_feed_release(struct race_thread *t, enum race_kind kind, u64 id);

/** race_feed_acquire_all() - of all objects of a kind */
int race_feed_acquire_all(struct race_thread *t, enum race_kind kind);
/** race_feed_stack() - memory has been mapped for the stack of a thread to be */
int race_feed_stack(struct race_process *p, u64 start, u64 size);

/** race_call_enter() - what a system call lets others see, at its first ticket */
int race_call_enter(struct race_thread *t, const struct adept_ev_syscall *c, u64 pc);
/** race_call_leave() - what it may have waited for, and what it did, at its second one */
int race_call_leave(struct race_thread *t, const struct adept_ev_syscall *c, u64 pc);

#endif
