/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Derive the input of race detection and prediction from recovered items: memory accesses, and the
 * order of threads.
 *
 * Order comes from these items:
 * - locked instructions, which release and acquire their words;
 * - plain accesses to such words: a load acquires as late as it can have happened, a store releases
 *   as early as it can have happened, so that no order is missing;
 * - system calls;
 * - the creation and the end of threads, and the word that the kernel clears at the end.
 *
 * Locks, condition variables and barriers are implemented by these, so the functions need not be
 * known by name.
 */
#ifndef ADEPT_ANALYZE_SYNC_SYNC_H
#define ADEPT_ANALYZE_SYNC_SYNC_H

#include "dep/contexts.h"
#include "dep/functions.h"
#include "dep/races.h"
#include "libdep/abi/stream.h"
#include "open_files.h"
#include "instructions.h"
#include "mappings.h"
#include "sync_objects.h"
#include "memory_facts.h"
#include "libdep/analyze/races/race_table.h"

/* Flags of accesses, in addition to the RACE_* flags. */
/* plain access to a word that locked instructions access */
#define SYNC_MAYBE_ATOMIC	RACE_USER1
#define SYNC_DESCRIPTOR	RACE_USER2	/* access to a file descriptor, not to memory */

#define SYNC_OBJECT		RACE_USER3	/* access to a pthreads object as a whole */

/*
 * The race detector also tracks file descriptors, and pthreads objects as a whole.  Their detector
 * addresses have one of these bits set, which no address of a program has.
 */
#define SYNC_DESCRIPTORS	(1ull << 62)
#define SYNC_OBJECTS		(1ull << 61)

#define SYNC_BATCH	256u
#define SYNC_CODES	4096u	/* size of the cache of sync_code() */
/* size of the cache of options->leaves(): does a jump leave a function? */
#define SYNC_LEAPS	1024u

/** struct sync_words - words (address / 4) known to be atomic, kept from pass to pass */
struct sync_words {
	struct { u32 process; u64 word; } *v;
	size_t n, room;
};

#define SYNC_ROUND	16u

/** struct sync_round - accesses by the program's code since the thread last slept */
struct sync_round {
	/* hash of the accesses in this round, and in the two rounds before */
	u64 hash, before[2];
	u32 same;		/* number of consecutive rounds that equalled one of @before */
	u32 n;
	u64 at[SYNC_ROUND];	/* addresses of the first reads of this round */
	u32 size[SYNC_ROUND];
};

#define SYNC_POLLED	4u

/** struct sync_read - a read by the program's code */
struct sync_read {
	u64 pc, at;
};

/** struct sync_poll - the last reads, and the last reads before the last sleep */
struct sync_poll {
	struct sync_read last[SYNC_POLLED], before[SYNC_POLLED];
	u32 n;
	/* since it slept, the thread has only repeated reads that are in @before */
	bool awake;
};

#define SYNC_HELD_LOCKS	32u

/** struct sync_robust - robust mutexes that a thread holds */
struct sync_robust {
	/* detector address of the list head registered with the kernel; 0: none */
	u64 head;
	bool pending;		/* list_op_pending is set: a lock or unlock is in progress */
	/* word (address / 4) that was locked but is not in the list yet; 0: none */
	u64 locked;
	u32 nheld;
	u64 held[SYNC_HELD_LOCKS];
};

/**
 * struct sync_place - a position in a thread, and the call stack there
 * @frame: calls and jumps, innermost first; set after the last pass (libdep/analyze/race_stacks.c)
 */
struct sync_place {
	struct dep_position at;
	u64 *frame;
	u32 nframes;
	bool incomplete;	/* callers may be missing */
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
	struct sync_place place;	/* of the lock operation */
	u32 times;		/* number of times that the thread holds the lock */
	/* 0, or the signal handler level + 1 of a condition wait that unlocked the mutex */
	u32 waiting;
	enum sync_acquire_kind how;
	/* heap block that contains the lock; only in copies for requested stacks */
	u64 block, block_size;
};

/** struct sync_held_locks - locks that a thread holds, oldest first; see locks_held.c */
struct sync_held_locks {
	struct sync_lock *lock;
	u32 n, room;
	/* the thread may hold other locks: records or the result of a call are missing */
	bool lost;
	/* 0, or the signal handler level + 1 of a condition wait, as in struct sync_lock */
	u32 waiting;
	/* address of the last locked instruction outside of hooked functions, and of its word */
	u64 own_pc, own_address;
};

/** struct sync_frame - a call of a hooked function that has not returned */
struct sync_frame {
	u64 sp, pc;
	u16 function;		/* enum dep_function */
	u8 known;		/* bit n: arg[n] is known */
	u32 level;		/* number of signal handlers running at the call */
	/* number of entries of sync_thread.stack at the call, the call included */
	u32 depth;
	struct dep_position at;		/* first instruction of the function */
	u64 arg[DEP_FUNCTION_ARGS];
	u64 again;			/* bytes of a block that are new for the filter */
};

/** struct sync_calls - calls of hooked functions that have not returned, outermost first */
struct sync_calls {
	struct sync_frame *frame;
	u32 n, room, level;
	u32 cancelling;		/* level of a signal handler that may cancel the thread; 0: none */
	/* at level @cancelling, the mutex of the interrupted condition wait is locked again */
	bool relocked;
	u32 nread;		/* number of read-write locks held for reading */
	u64 read[SYNC_HELD_LOCKS];
};

/** struct sync_origin - where a block was allocated; only in the pass that collects stacks */
struct sync_origin {
	u32 serial, tid;
	struct sync_place place;
};

/** struct sync_heap - hash table of allocated blocks, by address */
struct sync_heap {
	struct sync_block {
		u64 address, size;
		struct sync_origin *origin;
	} *block;
	u32 n, used, room;
	/* the program also allocates blocks at unknown addresses, with posix_memalign() */
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
	/* serial of the first image of the same process: execve makes a new image */
	u32 first;
	/* serial of the first image of the process that forked this one; 0: unknown */
	u32 creator;
	u32 number;		/* number of the image in its group, from 1 on */
	/* @number of the first image of the process, which signals to the process use */
	u32 first_number;
	bool paused;		/* its threads have left the engine for a pause */
	/* in the group of images that share memory, see shared_mappings.h */
	bool grouped;
	bool multi;		/* the image has had more than one thread */
	bool locks;		/* the image has used file locks */
	/* number of threads that run, and of created threads that have not begun */
	u32 alive, created;
	u32 seen;		/* number of threads that have begun, the ended ones included */
	struct sync_code {
		u64 pc;
		u32 code;	/* enum dep_code */
	} *code;		/* cache of sync_code(), hashed by pc; NULL: empty */
	struct sync_leap {
		u64 from, to;
		bool leaves;
	} *leap;		/* cache of options->leaves(); NULL: empty */
	struct sync_facts *scope;
	struct sync_files files;
	struct sync_heap heap;
	bool functions;		/* hooked functions have been called */
	struct sync_maps maps;
	/* the fork that made the image, until its first thread begins */
	struct sync_fork *fork;
};

/* Index of the entry for @pc in sync_image.code. */
static inline u32 sync_code_slot(u64 pc)
{
	return (u32)(pc * 0x9e3779b97f4a7c15ull >> 52);
}

/** struct sync_thread - a recorded thread */
struct sync_thread {
	struct sync_process *process;
	struct sync_image *image;
	/* @serial, @tid: in the recording; @index: in the detector */
	u32 serial, tid, index;
	struct sync_events *sync;
	bool begun, ended, joined;
	/*
	 * The thread has not reached sync_events.from: what ordered its accesses before may have
	 * been dropped, so the detector does not get them.
	 */
	bool early;
	u32 life;		/* value of process->lives when the thread began */
	bool in_library;	/* in code that creates or ends threads (DEP_CODE_THREADS) */
	/* stack of @in_library: one bit for each level interrupted by a signal */
	u64 was_in_library;
	/* child of vfork(): has its parent's memory, but its own descriptors */
	bool vforked;
	/* @locked: in a locked instruction, at @locked_pc; @wrote: that changes memory */
	bool locked, wrote;
	u64 locked_pc, locked_at;
	u32 locked_size;
	/* The position, in the pass that collects stacks. */
	struct dep_position at;
	/*
	 * Call stack, outermost first; only for prediction. An entry for a tail call (a jump to
	 * another function) has the sp of the call before it.
	 */
	struct { u64 pc, sp; } *stack;
	u32 depth, stack_room;
	u64 jump;		/* pc of the last jump if that may be a tail call; else 0 */
	struct sync_round round;
	struct sync_poll poll;
	struct sync_robust robust;
	struct sync_calls calls;
	struct sync_held_locks held;
	/* in a hooked function whose accesses are dropped: hooked_functions.c */
	bool muted;
	struct race_ref ref[SYNC_BATCH];
	u32 nrefs;
	/* Events received so far that belong to the next system call. */
	struct adept_ev_buffer buffer[ADEPT_BUFFERS];
	u32 nbuffers;
	struct adept_ev_shared shared;
	bool has_shared;
	/* wait for a condition variable; object 0: none */
	struct { u64 object, mutex, pc, epoch; } wait;
};

#define SYNC_GROUP	0u	/* serial of the group; no image has this serial */

/** struct sync_process - an image, or the group of all images; its threads share a detector */
struct sync_process {
	struct sync_process *next;
	struct sync_thread_log *future;	/* state of race prediction; NULL: none */
	bool too_many_threads;		/* no longer analyzed: see sync_too_many_threads() */
	u32 serial;		/* serial of the image, or SYNC_GROUP */
	/* NULL: the process has ended and its detector was freed */
	struct race_detector *detector;
	/* how often the process has ended: a thread that begins later can revive it */
	u32 lives;
	struct sync_facts *scope;
	struct sync_objects objects;
	struct sync_regions regions;
	u32 nimages;
	struct sync_image **of;		/* images of the threads, by detector index */
	u32 nof;
	struct sync_thread **waiter;	/* threads that wait for condition variables */
	u32 nwaiters, waiters_room;
	u32 last_file;
	u32 signal_file;	/* file number of all signalfds; 0: none */
	struct race_rows *rows;
	u32 live_reported;	/* number of @rows already reported by live analysis */
	struct {
		struct sync_image *image;	/* image of the child; NULL: the child has begun */
		u32 tid, index, flags;
		u64 child_tid;
	} *child;		/* threads that were created and have not ended */
	u32 nchildren, children_room;
	struct { u64 start, size; } *stack;	/* memory mapped for thread stacks */
	u32 nstacks, stacks_room;
};

/**
 * struct sync_stack - request for the call stack of an access, by @pc in the interval @epoch of a
 * thread
 */
struct sync_stack {
	struct sync_process *process;
	u32 process_serial, index;
	u64 epoch, pc, address;
	u32 size, flags;
	u32 thread, tid, image;	/* result: serial and tid of the thread, serial of its image */
	struct sync_place place;	/* result: of the access */
	/* result: serial and tid of the thread's creator, and the place of the creation */
	u32 creator, creator_tid;
	struct sync_place birth;
	/* result: heap block that contains @address at the access */
	u64 block, block_size;
	struct sync_origin *origin;	/* a copy */
	struct sync_lock *held;		/* result: locks held at the access */
	u32 nheld;
	/* result: other locks may be held; no hooked function was called, so locks are unknown */
	bool held_lost, held_unseen;
	u64 own_pc, own_address;	/* result: as in struct sync_held_locks */
	bool found;
};

/*
 * Passes over the recording. The first pass gets filtered accesses and finds all bytes that may
 * race, and some others. Exact passes get the accesses to these bytes and to words that order
 * threads.
 */
enum sync_pass {
	SYNC_ALL,		/* a pass that gets all accesses */
	SYNC_FIRST,
	SYNC_EXACT,
};

struct sync_events {
	struct dep_store *store;
	const struct dep_races_options *options;
	/*
	 * Recorded with --last: timestamp from which on everything is stored; 0: everything is, or
	 * nothing was dropped. @last: what was dropped, if @from is not 0.
	 */
	u64 from;
	struct dep_last last;
	struct sync_process *processes;
	struct sync_image *images;
	struct sync_serials process_by, image_by;	/* @processes and @images by serial */
	struct sync_serials scope_by;			/* @scopes by serial of the process */
	struct sync_fork *forks;	/* forks whose children have not begun */
	/* index of the store's processes by pid; has the first @nby_pid of them */
	struct sync_index by_pid;
	/* index of the store's threads by process; has the first @nby_image of them */
	struct sync_index by_image;
	size_t nby_pid, nby_image;
	/* memory that images share; NULL: do not look for any */
	struct sync_shared_maps *shares;
	struct sync_thread **thread;	/* threads, by serial */
	size_t nthreads;
	/* atomic words found by earlier passes; find_races.c adds to them after a pass */
	struct sync_words *words;
	size_t nknown;			/* number of @words known when the pass began */
	enum sync_pass pass;
	struct sync_facts *scopes;	/* facts of all processes, kept from pass to pass */
	pthread_mutex_t asking;		/* held while options->code(), leaves() or found() runs */
	struct sync_insns insns;	/* index of recorded code; kept from pass to pass */
	/* number of processes with too many threads, in this pass */
	u32 nover_limit;
	struct sync_stack *want;
	size_t nwant;
	bool predict;
	/* prediction of all processes; kept from pass to pass */
	struct sync_thread_log *futures;
	int err;
};

/* ---- limits.c ---- */

int sync_no_memory(void);	/* set the error message; returns -ENOMEM */
/**
 * sync_too_many_threads() - stop the analysis of @p, which has too many threads or images
 *
 * Threads beyond the limit may order other threads, so from here on no races are reported. Races
 * reported before stay valid.
 */
void sync_too_many_threads(struct sync_events *f, struct sync_process *p);

/* ---- code.c ---- */

/** sync_ask_code() - get enum dep_code of the code at @pc; any thread may call it */
enum dep_code sync_ask_code(struct sync_events *f, u32 process, u64 pc);
/** sync_fill_code() - sync_ask_code(), and cache the result for sync_code() */
enum dep_code sync_fill_code(struct sync_events *f, struct sync_image *m, u64 pc);

/** sync_code() - get enum dep_code of the code at @pc in @m, from the cache if possible */
static inline enum dep_code sync_code(struct sync_events *f, struct sync_image *m, u64 pc)
{
	const struct sync_code *c = m->code ? &m->code[sync_code_slot(pc)] : NULL;

	return c && c->pc == pc ? c->code : sync_fill_code(f, m, pc);
}

/* ---- processes.c ---- */

/** sync_process_of() - find or make the process with @serial; NULL: no memory */
struct sync_process *sync_process_of(struct sync_events *f, u32 serial);
/** sync_process_again() - make the detector of @p again: a thread begins though @p had ended */
int sync_process_again(struct sync_events *f, struct sync_process *p);
/**
 * sync_process_over() - free most memory of the ended image @m, which is in no group
 *
 * A session can have thousands of processes.
 */
int sync_process_over(struct sync_image *m);

/* ---- threads.c ---- */

/** sync_thread_of() - find or make the struct sync_thread of @t; NULL: no memory */
struct sync_thread *sync_thread_of(struct sync_events *f, const struct dep_thread *t);
/**
 * sync_tid_address() - the kernel clears the word at @address when @t ends
 *
 * For threads whose creation was not recorded.  Return: 0 or -ENOMEM.
 */
int sync_tid_address(struct sync_thread *t, u64 address);
/** sync_thread_begin() - begin @t, before its first item */
int sync_thread_begin(struct sync_thread *t);
/** sync_thread_created() - begin the child that @t created, ordered after all that @t did so far */
int sync_thread_created(struct sync_thread *t, const struct adept_ev_fork *ev);
/**
 * sync_thread_ended() - end @t
 *
 * Release the word that the kernel clears at a thread's end, so that a thread that acquires it is
 * ordered after all of @t.
 */
int sync_thread_ended(struct sync_thread *t);
/** sync_stack() - remember memory mapped for the stack of a future thread */
int sync_stack(struct sync_process *p, u64 start, u64 size);
void sync_free(struct sync_events *f);

/* ---- process_images.c ---- */

/** sync_image_of() - find or make the image of @t; NULL: no memory */
struct sync_image *sync_image_of(struct sync_events *f, const struct dep_thread *t);
/** sync_image_note() - store the image of @t for sync_image_at(); 0 or -ENOMEM */
int sync_image_note(struct sync_thread *t);
/** sync_image_at() - get the image of the thread with detector index @index in @p */
struct sync_image *sync_image_at(const struct sync_events *f, const struct sync_process *p,
				 u32 index);
/** sync_forked() - @t forked process @pid: store what the child inherits */
int sync_forked(struct sync_thread *t, u32 pid);
/** sync_image_begin() - begin @t, which no recorded clone() in its process created */
int sync_image_begin(struct sync_thread *t);
/** sync_image_end() - @t ends; with the last thread the image ends */
int sync_image_end(struct sync_thread *t);
/** sync_waited() - @t has waited for process @pid of its group, or, if 0, for any child */
int sync_waited(struct sync_thread *t, u32 pid);
/** sync_signal() - get the id of the SYNC_SIGNAL object for signal @signo to @m's process */
u64 sync_signal(const struct sync_image *m, u64 signo);
/** sync_send() - @t sends signal @signo to process @pid of its group; 0 or less: to any process */
int sync_send(struct sync_thread *t, s64 pid, u64 signo);
/** sync_is_spin_word() - did a thread wait in a loop for @word (address / 4) to change? */
bool sync_is_spin_word(const struct sync_events *f, const struct sync_process *p, u64 word);
void sync_images_free(struct sync_events *f);

/* ---- mappings.c ---- */

/**
 * sync_address_of() - get the address in @m of the memory or object with detector address @place
 */
u64 sync_address_of(const struct sync_image *m, u64 place);

/** sync_at() - translate @address in @t's image to the detector's address space (mappings.h) */
static inline u64 sync_at(const struct sync_thread *t, u64 address)
{
	return t->image->grouped ? sync_place(t->image, address, NULL) : address;
}

/**
 * sync_range() - like sync_at(); reduces *@size to the bytes that are contiguous in the detector,
 * too
 */
static inline u64 sync_range(const struct sync_thread *t, u64 address, u64 *size)
{
	return t->image->grouped ? sync_place(t->image, address, size) : address;
}

/* ---- places.c ---- */

/** sync_place_of() - the position of @t, at an instruction at @pc or, if 0, at the next one */
struct sync_place sync_place_of(const struct sync_thread *t, u64 pc);
/** sync_want_stack() - note where @t is if this access is a requested one */
int sync_want_stack(struct sync_events *f, struct sync_thread *t, u64 pc, u64 address, u64 size);
/** sync_note_creation() - note where @t is if the creation of thread @index is requested */
void sync_note_creation(struct sync_thread *t, u32 index);

/* ---- call_stacks.c ---- */

/** sync_note_call() - update @t's call stack after a call, return or jump */
int sync_note_call(struct sync_thread *t, const struct dep_call *c);
/** sync_note_pc() - @t is at @pc after t->jump: if that was a tail call, add a stack entry */
int sync_note_pc(struct sync_thread *t, u64 pc);

/* ---- flush.c, access.c, order.c ---- */

/** sync_flush() - give the batched accesses of @t to the detector */
int sync_flush(struct sync_thread *t);
/** sync_access() - add an access of @t to its batch for the detector */
int sync_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags);
int sync_acquire(struct sync_thread *t, enum sync_object_kind kind, u64 id);
int sync_release(struct sync_thread *t, enum sync_object_kind kind, u64 id);

/** sync_forget() - forget all accesses to memory that was newly allocated or unmapped */
int sync_forget(struct sync_thread *t, u64 address, u64 size);
/**
 * sync_barrier_all() - order all that the threads of @t's process (@image: of its image) do from
 * now on after all that they did until now
 */
int sync_barrier_all(struct sync_thread *t, bool image);
/** sync_acquire_all() - acquire all objects of kind @kind */
int sync_acquire_all(struct sync_thread *t, enum sync_object_kind kind);

/* ---- syscalls.c ---- */

/**
 * sync_call_foreseen() - callback dep_analyzer.foreseen(): can the beginning of the system call be
 * handled before its result is known?
 */
bool sync_call_foreseen(void *self, uint32_t nr, const uint64_t args[6]);
/** sync_call_enter() - make the accesses and releases of a system call, at its first timestamp */
int sync_call_enter(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc);
/** sync_call_leave() - make the accesses and acquires of a system call, at its second timestamp */
int sync_call_leave(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc);

/* ---- spin_wait.c ---- */

/** sync_wait_access() - add a plain access by program code to @t's round (since it last slept) */
void sync_wait_access(struct sync_thread *t, const struct dep_ref *r);
/** sync_wait_page() - add merged accesses to @t's round; their words do not become spin words */
void sync_wait_page(struct sync_thread *t, const struct dep_page_accesses *j);
/** sync_wait_call() - a system call has ended; if it slept, it ends @t's round */
int sync_wait_call(struct sync_thread *t, const struct adept_ev_syscall *c);

/* ---- sleep_polling.c ---- */

/**
 * sync_poll_access() - a plain access by the program's code: does it repeat a read before a sleep?
 */
void sync_poll_access(struct sync_thread *t, const struct dep_ref *r);
/** sync_poll_others() - @t did something other than repeat its earlier reads */
void sync_poll_others(struct sync_thread *t);
/**
 * sync_poll_synchronised() - @t executed a locked instruction or a system call that does not sleep
 */
void sync_poll_synchronised(struct sync_thread *t);
/** sync_poll_slept() - @t has slept */
void sync_poll_slept(struct sync_thread *t);

/* ---- robust_mutexes.c ---- */

/** sync_robust_list() - @t registered the list head at @head by set_robust_list() */
void sync_robust_list(struct sync_thread *t, u64 head);
/** sync_robust_write() - @t wrote plainly to its list head, at @address in the detector */
void sync_robust_write(struct sync_thread *t, u64 address);
/** sync_robust_locked() - a locked instruction of @t changed @word (address / 4) */
void sync_robust_locked(struct sync_thread *t, u64 word);
/** sync_robust_end() - @t ends: release the robust mutexes that it holds */
int sync_robust_end(struct sync_thread *t);

/* ---- library_races.c ---- */

/** sync_is_runtimes() - are both accesses inside an OpenMP runtime? Then it is no race. */
bool sync_is_runtimes(const struct sync_events *f, const struct sync_process *p,
		      const struct race_found *found);
/** sync_is_librarys() - are both accesses made by libraries, and one by a free or system call? */
bool sync_is_librarys(struct sync_events *f, const struct sync_stack *prior,
		      const struct sync_stack *current);
/** sync_maybe_atomic() - can a plain access of the race be an atomic one in the source code? */
bool sync_maybe_atomic(struct sync_events *f, struct sync_process *p,
		       const struct race_found *found);
/**
 * sync_condition() - return DEP_ACCESS_CONDITIONAL if @a may discard what it loads (cmov); else 0
 */
u32 sync_condition(struct sync_events *f, const struct sync_process *p,
		   const struct race_access *a);

/* ---- syscall_buffers.c ---- */

/** sync_note_buffer() - store a recorded buffer, which the next system call accesses */
void sync_note_buffer(struct sync_thread *t, const struct adept_ev_buffer *b);

/** sync_buffers() - access the memory that a system call reads (@enter) or writes */
int sync_buffers(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

/* ---- descriptors.c ---- */

/**
 * sync_descriptors() - access the descriptors that a system call uses or closes (@enter), or makes
 */
int sync_descriptors(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

#endif
