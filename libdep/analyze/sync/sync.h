/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Derives what the detector and the predictor need from recovered items: accesses, and the order of
 * threads.
 *
 * Order comes from these items:
 * - locked instructions, which release and acquire their words;
 * - plain accesses to such words: a load acquires as late as it can have happened, a store releases
 *   as early as it can have happened, so that no order is missing;
 * - system calls;
 * - the creation and the end of threads, and the word that the kernel clears at the end.
 *
 * Locks, conditions and barriers are made of these, so their names need not be known.
 */
#ifndef ADEPT_ANALYZE_SYNC_SYNC_H
#define ADEPT_ANALYZE_SYNC_SYNC_H

#include "dep/functions.h"
#include "dep/races.h"
#include "libdep/abi/stream.h"
#include "open_files.h"
#include "instructions.h"
#include "mappings.h"
#include "sync_objects.h"
#include "memory_facts.h"
#include "libdep/analyze/races/race_table.h"

/* Flags of accesses, in addition to the detector's. */
/* plain access to a word that locked instructions access */
#define SYNC_MAYBE_ATOMIC	RACE_USER1
#define SYNC_DESCRIPTOR	RACE_USER2	/* access to a descriptor, not to memory */

#define SYNC_OBJECT		RACE_USER3	/* access to a pthreads object as a whole */

/* Address bits that give descriptors and objects addresses no program has. */
#define SYNC_DESCRIPTORS	(1ull << 62)
#define SYNC_OBJECTS		(1ull << 61)

#define SYNC_BATCH	256u
#define SYNC_CODES	4096u	/* cached results of sync_code().. */
#define SYNC_LEAPS	1024u	/* ..and of whether a jump leaves a function */

/** struct sync_words - words known to be atomic, kept from pass to pass */
struct sync_words {
	struct { u32 process; u64 word; } *v;
	size_t n, room;
};

#define SYNC_ROUND	16u

/** struct sync_round - what the program's code did since the thread last slept */
struct sync_round {
	u64 hash, before[2];	/* of the accesses; of the two rounds before */
	u32 same;		/* consecutive rounds that equalled one of @before */
	u32 n;
	u64 at[SYNC_ROUND];	/* its first reads */
	u32 size[SYNC_ROUND];
};

#define SYNC_POLLED	4u

/** struct sync_read - a read by the program's code */
struct sync_read {
	u64 pc, at;
};

/** struct sync_poll - the last reads, and the reads before the last sleep */
struct sync_poll {
	struct sync_read last[SYNC_POLLED], before[SYNC_POLLED];
	u32 n;
	bool awake;		/* since it slept it has read only what is in @before */
};

#define SYNC_HELD_LOCKS	32u

/** struct sync_robust - robust mutexes that a thread holds */
struct sync_robust {
	u64 head;		/* address of the kernel's list head; 0: none */
	bool pending;		/* list_op_pending is set: a lock or unlock is in progress */
	u64 locked;		/* word locked meanwhile, not yet in the list; 0: none */
	u32 nheld;
	u64 held[SYNC_HELD_LOCKS];
};

enum sync_acquire_kind {
	SYNC_TAKES_NOTHING,
	SYNC_TAKES_MUTEX,
	SYNC_TAKES_SPIN,
	SYNC_TAKES_READ,	/* a read-write lock, for reading */
	SYNC_TAKES_WRITE,	/* a read-write lock, for writing */
};

/** struct sync_lock - a lock that a thread holds */
struct sync_lock {
	u64 address;
	u64 *frame;		/* stack where it was locked: return addresses, innermost first */
	u32 nframes;
	u32 times;		/* recursion depth */
	u32 waiting;		/* 0, or handler level + 1 of a condition wait that released it */
	enum sync_acquire_kind how;
	/* heap block that contains it; only in copies for requested stacks */
	u64 block, block_size;
};

/** struct sync_held_locks - locks that a thread holds, oldest first; see locks_held.c */
struct sync_held_locks {
	struct sync_lock *lock;
	u32 n, room;
	bool lost;		/* it may hold others: a gap, or a call whose result is not known */
	/* 0, or handler level + 1 of a condition wait, as in struct sync_lock */
	u32 waiting;
	u64 own_pc, own_address; /* the last locked instruction outside of hooked functions */
};

/** struct sync_frame - a call of a hooked function that has not returned */
struct sync_frame {
	u64 sp, pc;
	u16 function;		/* enum dep_function */
	u8 known;		/* bit n: arg[n] is known */
	u32 level;		/* number of signal handlers running at the call */
	u32 depth;		/* entries of struct sync_thread.stack, this call included */
	u64 arg[DEP_FUNCTION_ARGS];
	u64 again;			/* as in struct dep_call_values */
};

/** struct sync_calls - calls that have not returned, outermost first */
struct sync_calls {
	struct sync_frame *frame;
	u32 n, room, level;
	u32 cancelling;		/* level of a handler that may cancel the thread; 0: none */
	/* the mutex of the interrupted wait has been locked at that level */
	bool relocked;
	u32 nread;		/* read-write locks held for reading */
	u64 read[SYNC_HELD_LOCKS];
};

/** struct sync_origin - where a block was allocated; only in the pass that collects stacks */
struct sync_origin {
	u32 serial, tid, n;
	u64 frame[];		/* innermost first */
};

/** struct sync_heap - allocated blocks, hashed by address */
struct sync_heap {
	struct sync_block {
		u64 address, size;
		struct sync_origin *origin;
	} *block;
	u32 n, used, room;
	/* the program also allocates blocks whose address is not known */
	bool result_unused;
};

struct sync_fork;
struct sync_process;

/** struct sync_image - a process image: one address space, from fork or execve on */
struct sync_image {
	struct sync_image *next;
	struct sync_events *sync;
	struct sync_process *process;
	u32 serial, pid, parent;
	/* Serials. execve makes a new image of the same process: @first is its first image.. */
	u32 first;
	/* ..and @creator the first image of the forking process; 0: not known */
	u32 creator;
	u32 number;		/* in its group, from 1 on */
	/* @number of the process's first image: signals to the process use it */
	u32 first_number;
	bool grouped;		/* see shared_mappings.h */
	bool multi;		/* has had more than one thread */
	bool locks;		/* has locked files */
	u32 alive, created;	/* threads that run; threads created that have not begun */
	u32 seen;		/* threads that have ever begun */
	struct sync_code {
		u64 pc;
		u32 code;	/* enum dep_code */
	} *code;		/* cache, hashed by pc; NULL: empty */
	struct sync_leap {
		u64 from, to;
		bool leaves;
	} *leap;		/* cache, as above */
	struct sync_facts *scope;
	struct sync_files files;
	struct sync_heap heap;
	bool functions;		/* hooked functions have been called */
	struct sync_maps maps;
	struct sync_fork *fork;		/* the fork that made it, until its first thread begins */
};

/* Entry of @pc in struct sync_image.code. */
static inline u32 sync_code_slot(u64 pc)
{
	return (u32)(pc * 0x9e3779b97f4a7c15ull >> 52);
}

/** struct sync_thread - a recorded thread */
struct sync_thread {
	struct sync_process *process;
	struct sync_image *image;
	u32 serial, tid, index;		/* serial and tid of the recording; index in the detector */
	struct sync_events *sync;
	bool begun, ended, joined;
	u32 life;		/* value of process->lives when it began */
	bool in_library;	/* in code that creates or ends threads; see DEP_CODE_THREADS */
	u64 was_in_library;	/* stack of @in_library, one bit for each interrupted level */
	bool vforked;		/* in its parent's memory, but with its own descriptors */
	/* The current locked instruction. */
	bool locked, wrote;
	u64 locked_pc, locked_at;
	u32 locked_size;
	/*
	 * Call stack; only in a pass that collects stacks, and for prediction. An entry for a tail
	 * call (a jump to another function) has the sp of the call before it.
	 */
	struct { u64 pc, sp; } *stack;
	u32 depth, stack_room;
	u64 jump;		/* pc of the last jump if it may be a tail call; else 0 */
	struct sync_round round;
	struct sync_poll poll;
	struct sync_robust robust;
	struct sync_calls calls;
	struct sync_held_locks held;
	/* in a hooked function whose accesses do not count: hooked_functions.c */
	bool muted;
	struct race_ref ref[SYNC_BATCH];
	u32 nrefs;
	/* Events that belong to the next system call. */
	struct adept_ev_buffer buffer[ADEPT_BUFFERS];
	u32 nbuffers;
	struct adept_ev_shared shared;
	bool has_shared;
	struct { u64 object, mutex, pc, epoch; } wait;	/* for a condition; object 0: none */
};

#define SYNC_GROUP	0u	/* serial of the group; no image has it */

/** struct sync_process - an image, or the group of all images; its threads share a detector */
struct sync_process {
	struct sync_process *next;
	struct sync_thread_log *future;	/* for prediction; NULL: none */
	bool too_many_threads;		/* no longer analysed: sync_too_many_threads() */
	u32 serial;		/* of the image, or SYNC_GROUP */
	/* NULL: the process has ended and its detector is not needed */
	struct race_detector *detector;
	/* how often it has ended: a thread not known before can revive it */
	u32 lives;
	struct sync_facts *scope;
	struct sync_objects objects;
	struct sync_regions regions;
	u32 nimages;
	struct sync_image **of;		/* images of the threads, by detector index */
	u32 nof;
	struct sync_thread **waiter;	/* threads that wait for conditions */
	u32 nwaiters, waiters_room;
	u32 last_file;
	u32 signal_file;	/* the file for all signalfds; 0: none */
	struct race_rows *rows;
	u32 live_reported;	/* rows already reported by live analysis */
	struct {
		struct sync_image *image;	/* of the child; NULL: the child has begun */
		u32 tid, index, flags;
		u64 child_tid;
	} *child;		/* threads created and not ended */
	u32 nchildren, children_room;
	struct { u64 start, size; } *stack;	/* memory mapped for stacks */
	u32 nstacks, stacks_room;
};

/** struct sync_stack - a requested stack: of the access by @pc in an interval of a thread */
struct sync_stack {
	struct sync_process *process;	/* in this pass */
	u32 process_serial, index;
	u64 epoch, pc, address;
	u32 size, flags;
	u32 thread, tid;		/* result: serial and tid */
	u64 *frame;			/* return addresses, innermost first */
	u32 nframes;
	/* result: creator of that thread, and the stack of the creation */
	u32 creator, creator_tid;
	u64 *birth;
	u32 nbirth;
	u64 block, block_size;		/* heap block that contains @address at the access */
	struct sync_origin *origin;
	struct sync_lock *held;		/* locks held at the access */
	u32 nheld;
	bool held_lost, held_unseen;	/* other locks may be held; no hooked function was called */
	u64 own_pc, own_address;	/* as in struct sync_held_locks */
	bool found;
};

/*
 * The first pass gets filtered accesses and finds all bytes that may race, and more. Exact passes
 * get the accesses to these bytes and to words that order.
 */
enum sync_pass {
	SYNC_ALL,		/* one pass with all accesses */
	SYNC_FIRST,
	SYNC_EXACT,
};

struct sync_events {
	struct dep_store *store;
	const struct dep_races_options *options;
	struct sync_process *processes;
	struct sync_image *images;
	struct sync_serials process_by, image_by;	/* indexes of these by serial */
	struct sync_serials scope_by;			/* index of @scopes */
	struct sync_fork *forks;	/* forks whose child has not begun */
	/* index of @store's processes by pid; @nby_pid are indexed */
	struct sync_index by_pid;
	/* index of @store's threads by process; @nby_image are indexed */
	struct sync_index by_image;
	size_t nby_pid, nby_image;
	struct sync_shared_maps *shares;	/* NULL: do not look for groups */
	struct sync_thread **thread;	/* by serial */
	size_t nthreads;
	struct sync_words *words;	/* from earlier passes; this pass adds to them */
	size_t nknown;			/* number of @words known from the beginning */
	enum sync_pass pass;
	struct sync_facts *scopes;	/* facts of all processes, kept from pass to pass */
	pthread_mutex_t asking;		/* held while options->code() or leaves() runs */
	struct sync_insns insns;	/* kept until sync_insns_free() */
	u32 nover_limit;		/* number of processes, in this pass */
	struct sync_stack *want;
	size_t nwant;
	bool predict;
	struct sync_thread_log *futures;	/* kept until sync_thread_logs_free() */
	int err;
};

/* ---- limits.c ---- */

int sync_no_memory(void);	/* -ENOMEM, with a message */
/**
 * sync_too_many_threads() - stop the analysis of @p, which has too many threads or images
 *
 * Threads beyond the limit may order the others, so from here on nothing more is reported. Earlier
 * reports stay valid.
 */
void sync_too_many_threads(struct sync_events *f, struct sync_process *p);

/* ---- code.c ---- */

/** sync_ask_code() - enum dep_code of the code at @pc; any thread may call it */
enum dep_code sync_ask_code(struct sync_events *f, u32 process, u64 pc);
/** sync_fill_code() - sync_ask_code(), and keep it for sync_code() */
enum dep_code sync_fill_code(struct sync_events *f, struct sync_image *m, u64 pc);

/** sync_code() - enum dep_code of the code at @pc in @m */
static inline enum dep_code sync_code(struct sync_events *f, struct sync_image *m, u64 pc)
{
	const struct sync_code *c = m->code ? &m->code[sync_code_slot(pc)] : NULL;

	return c && c->pc == pc ? c->code : sync_fill_code(f, m, pc);
}

/* ---- processes.c ---- */

/** sync_process_of() - find or make; NULL: no memory */
struct sync_process *sync_process_of(struct sync_events *f, u32 serial);
/** sync_process_again() - a thread that was not known begins in @p, which had ended */
int sync_process_again(struct sync_events *f, struct sync_process *p);
/**
 * sync_process_over() - free most of what is kept of the ended image @m, which is in no group
 *
 * A session can have thousands of processes.
 */
int sync_process_over(struct sync_image *m);

/* ---- threads.c ---- */

/** sync_thread_of() - find or make; NULL: no memory */
struct sync_thread *sync_thread_of(struct sync_events *f, const struct dep_thread *t);
/** sync_thread_begin() - begin @t, before its first item */
int sync_thread_begin(struct sync_thread *t);
/** sync_thread_created() - begin the child of a clone, ordered after @t's operations until now */
int sync_thread_created(struct sync_thread *t, const struct adept_ev_fork *ev);
/**
 * sync_thread_ended() - end @t
 *
 * Releases the word that the kernel clears, so that a thread that acquires it is ordered after all
 * of @t.
 */
int sync_thread_ended(struct sync_thread *t);
/** sync_stack() - note memory mapped for the stack of a future thread */
int sync_stack(struct sync_process *p, u64 start, u64 size);
void sync_free(struct sync_events *f);

/* ---- process_images.c ---- */

/** sync_image_of() - find or make the image of @t; NULL: no memory */
struct sync_image *sync_image_of(struct sync_events *f, const struct dep_thread *t);
/** sync_image_note() - note the image of @t for sync_image_at(); 0 or -ENOMEM */
int sync_image_note(struct sync_thread *t);
/** sync_image_at() - the image of the thread with detector index @index in @p */
struct sync_image *sync_image_at(const struct sync_events *f, const struct sync_process *p,
				 u32 index);
/** sync_forked() - note that @t forked process @pid, with what the child inherits */
int sync_forked(struct sync_thread *t, u32 pid);
/** sync_image_begin() - begin @t, which no recorded clone of its process created */
int sync_image_begin(struct sync_thread *t);
/** sync_image_end() - @t ends; with the last thread the image ends */
int sync_image_end(struct sync_thread *t);
/** sync_waited() - @t has waited for process @pid of its group; 0: for any child */
int sync_waited(struct sync_thread *t, u32 pid);
/** sync_signal() - id of the object for signal @signo to @m's process */
u64 sync_signal(const struct sync_image *m, u64 signo);
/** sync_send() - @t sends a signal to process @pid of its group; 0 or less: to any process */
int sync_send(struct sync_thread *t, s64 pid, u64 signo);
/** sync_is_spin_word() - did a thread wait in a loop for this word (address / 4) to change? */
bool sync_is_spin_word(const struct sync_events *f, const struct sync_process *p, u64 word);
void sync_images_free(struct sync_events *f);

/* ---- mappings.c ---- */

/** sync_address_of() - address in @m of the detector's address @place */
u64 sync_address_of(const struct sync_image *m, u64 place);

/** sync_at() - the detector's address of @t's @address */
static inline u64 sync_at(const struct sync_thread *t, u64 address)
{
	return t->image->grouped ? sync_place(t->image, address, NULL) : address;
}

/** sync_range() - sync_at(); @size is limited to what is contiguous in the detector, too */
static inline u64 sync_range(const struct sync_thread *t, u64 address, u64 *size)
{
	return t->image->grouped ? sync_place(t->image, address, size) : address;
}

/* ---- call_stacks.c ---- */

/** sync_note_call() - follow a call, return or jump of @t */
int sync_note_call(struct sync_thread *t, const struct dep_call *c);
/** sync_note_pc() - @t is at @pc: find out whether t->jump was a tail call */
int sync_note_pc(struct sync_thread *t, u64 pc);
/** sync_want_stack() - keep @t's stack if this access is a requested one */
int sync_want_stack(struct sync_events *f, struct sync_thread *t, u64 pc, u64 address, u64 size);

/** sync_note_creation() - keep @t's stack if the creation of thread @index is requested */
int sync_note_creation(struct sync_thread *t, u32 index);

/* ---- flush.c, access.c, order.c ---- */

/** sync_flush() - pass the batched accesses to the detector */
int sync_flush(struct sync_thread *t);
/** sync_access() - add an access to the batch */
int sync_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags);
int sync_acquire(struct sync_thread *t, enum sync_object_kind kind, u64 id);
int sync_release(struct sync_thread *t, enum sync_object_kind kind, u64 id);

/** sync_forget() - forget accesses to memory that is new to the program or no longer mapped */
int sync_forget(struct sync_thread *t, u64 address, u64 size);
/** sync_barrier_all() - order all threads of @t's process (or image) with each other, here */
int sync_barrier_all(struct sync_thread *t, bool image);
/** sync_acquire_all() - acquire all objects of a kind */
int sync_acquire_all(struct sync_thread *t, enum sync_object_kind kind);

/* ---- syscalls.c ---- */

/** sync_call_foreseen() - dep_analyzer.foreseen(): does the beginning not depend on the result? */
bool sync_call_foreseen(void *self, uint32_t nr, const uint64_t args[6]);
/** sync_call_enter() - accesses and releases of a system call, at its first timestamp */
int sync_call_enter(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc);
/** sync_call_leave() - accesses and acquires of a system call, at its second timestamp */
int sync_call_leave(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc);

/* ---- spin_wait.c ---- */

/** sync_wait_access() - note a plain access by the program's code */
void sync_wait_access(struct sync_thread *t, const struct dep_ref *r);
/** sync_wait_page() - note merged accesses; none of them becomes a spin word */
void sync_wait_page(struct sync_thread *t, const struct dep_page_accesses *j);
/** sync_wait_call() - note a system call that has ended */
int sync_wait_call(struct sync_thread *t, const struct adept_ev_syscall *c);

/* ---- sleep_polling.c ---- */

/** sync_poll_access() - note a plain access by the program's code */
void sync_poll_access(struct sync_thread *t, const struct dep_ref *r);
/** sync_poll_others() - the thread did something other than repeat its earlier reads */
void sync_poll_others(struct sync_thread *t);
/** sync_poll_synchronised() - a locked instruction, or a system call that does not sleep */
void sync_poll_synchronised(struct sync_thread *t);
/** sync_poll_slept() - the thread slept */
void sync_poll_slept(struct sync_thread *t);

/* ---- robust_mutexes.c ---- */

/** sync_robust_list() - note the list head set by set_robust_list() */
void sync_robust_list(struct sync_thread *t, u64 head);
/** sync_robust_write() - note a plain write to the list head */
void sync_robust_write(struct sync_thread *t, u64 address);
/** sync_robust_locked() - a locked instruction changed @word */
void sync_robust_locked(struct sync_thread *t, u64 word);
/** sync_robust_end() - the thread ends: release the mutexes that it holds */
int sync_robust_end(struct sync_thread *t);

/* ---- library_races.c ---- */

/** sync_is_runtimes() - are both accesses inside an OpenMP runtime, so that this is no race? */
bool sync_is_runtimes(const struct sync_events *f, const struct sync_process *p,
		      const struct race_found *found);
/** sync_is_librarys() - are both accesses libraries' own, frees or calls made by libraries? */
bool sync_is_librarys(struct sync_events *f, const struct sync_stack *prior,
		      const struct sync_stack *current);
/** sync_maybe_atomic() - can the plain access be a compiled atomic one? */
bool sync_maybe_atomic(struct sync_events *f, struct sync_process *p,
		       const struct race_found *found);
/** sync_condition() - DEP_ACCESS_CONDITIONAL, or 0 */
u32 sync_condition(struct sync_events *f, const struct sync_process *p,
		   const struct race_access *a);

/* ---- syscall_buffers.c ---- */

/** sync_note_buffer() - note a buffer that the next system call found in memory */
void sync_note_buffer(struct sync_thread *t, const struct adept_ev_buffer *b);

/** sync_buffers() - access the memory that a call reads (@enter) or writes */
int sync_buffers(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

/* ---- descriptors.c ---- */

/** sync_descriptors() - access the descriptors that a call uses or closes (@enter), or makes */
int sync_descriptors(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

#endif
