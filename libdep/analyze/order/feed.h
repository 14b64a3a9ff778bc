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
#ifndef DEP_ORDER_FEED_H
#define DEP_ORDER_FEED_H

#include "../../../include/dep/races.h"
#include "../../abi/descriptor.h"
#include "files.h"
#include "objects.h"
#include "../races/rows.h"

/* Flags of accesses, beside the detector's. */
#define ORDER_MAYBE_ATOMIC	RACE_USER1	/* plain, of a word that others access locked */

#define ORDER_BATCH	256u
#define ORDER_CODES	4096u	/* places of which it is remembered whose code they are */

/** struct order_words - words that are known to be atomic, from one pass to the next */
struct order_words {
	struct { u32 process; u64 word; } *v;
	size_t n, room;
};

struct order_process;

/** struct order_thread - a recorded thread */
struct order_thread {
	struct order_process *process;
	u32 serial, tid, index;		/* the detector's */
	struct order_feed *feed;
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
	struct race_ref ref[ORDER_BATCH];
	u32 nrefs;
};

/** struct order_process - a process image, in which addresses mean one thing */
struct order_process {
	struct order_process *next;
	u32 serial;
	struct { u64 pc; u32 code; } code[ORDER_CODES];	/* enum dep_code; by a hash of pc */
	struct race_detector *detector;
	struct order_objects objects;
	struct order_files files;
	u32 signal_file;	/* that which signalfd() makes; 0: none yet */
	struct race_rows *rows;
	struct { u32 tid, index; u64 child_tid; } *child;	/* created and not yet begun */
	u32 nchildren, children_room;
	struct { u64 start, size; } *stack;	/* mapped for stacks */
	u32 nstacks, stacks_room;
};

/** struct order_stack - a wanted stack: of the access of @pc in this interval of a thread */
struct order_stack {
	struct order_process *process;	/* of the pass at hand */
	u32 process_serial, index;
	u64 epoch, pc, address;
	u32 size;
	u32 thread, tid;		/* found: serial and tid */
	u64 *frame;			/* return addresses, innermost first */
	u32 nframes;
	u32 creator, creator_tid;	/* of that thread, and where it did: births.c */
	u64 *birth;
	u32 nbirth;
	bool found;
};

struct order_feed {
	const struct dep_races_options *options;
	struct order_process *processes;
	struct order_thread **thread;	/* by serial */
	size_t nthreads;
	struct order_words *words;	/* of earlier passes; what this one learns is added */
	size_t nknown;			/* of @words: known from the beginning */
	struct order_stack *want;
	size_t nwant;
	int err;
};

/** order_items() - struct dep_analyzer.items of a struct order_feed */
ssize_t order_items(void *self, const struct dep_thread *t, const struct dep_item *items,
		    size_t n, bool late);
int order_gap(void *self, const struct dep_thread *t);
int order_end(void *self, const struct dep_thread *t);
void order_free(struct order_feed *f);

/* ---- threads.c ---- */

int order_no_memory(void);	/* -ENOMEM, with a message */
/** order_thread_of() - made if it is new; NULL: no memory */
struct order_thread *order_thread_of(struct order_feed *f, const struct dep_thread *t);
/** order_thread_begin() - @t does something for the first time */
int order_thread_begin(struct order_thread *t);
/** order_thread_created() - the child of a clone is ordered behind its parent from there on */
int order_thread_created(struct order_thread *t, const struct adept_ev_fork *ev);
/**
 * order_thread_ended() - @t does nothing more
 *
 * The kernel clears a word then; who sees that goes on behind all that the thread did.
 */
int order_thread_ended(struct order_thread *t);

/* ---- stacks.c ---- */

/** order_note_call() - a call or a return of @t */
int order_note_call(struct order_thread *t, const struct dep_call *c);
/** order_look_for() - keep the stack if this access is one of those that are wanted */
int order_look_for(struct order_feed *f, struct order_thread *t, u64 pc, u64 address, u64 size);

/** order_note_birth() - @t creates the thread @index; keeps its stack if that one is wanted */
int order_note_birth(struct order_thread *t, u32 index);

/* ---- feed.c, for calls.c ---- */

/** order_flush() - tell the detector of the accesses that are waiting */
int order_flush(struct order_thread *t);
/** order_access() - one more access */
int order_access(struct order_thread *t, u64 pc, u64 address, u64 size, u32 flags);
int order_acquire(struct order_thread *t, enum order_kind kind, u64 id);
int order_release(struct order_thread *t, enum order_kind kind, u64 id);

/** order_acquire_all() - of all objects of a kind */
int order_acquire_all(struct order_thread *t, enum order_kind kind);
/** order_stack() - memory has been mapped for the stack of a thread to be */
int order_stack(struct order_process *p, u64 start, u64 size);

/** order_call_enter() - what a system call lets others see, at its first ticket */
int order_call_enter(struct order_thread *t, const struct adept_ev_syscall *c, u64 pc);
/** order_call_leave() - what it may have waited for, and what it did, at its second one */
int order_call_leave(struct order_thread *t, const struct adept_ev_syscall *c, u64 pc);

#endif
