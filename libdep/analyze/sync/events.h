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
#ifndef ADEPT_ANALYZE_SYNC_EVENTS_H
#define ADEPT_ANALYZE_SYNC_EVENTS_H

#include "dep/functions.h"
#include "dep/races.h"
#include "libdep/abi/stream.h"
#include "open_files.h"
#include "instructions.h"
#include "mappings.h"
#include "sync_objects.h"
#include "memory_facts.h"
#include "libdep/analyze/races/race_table.h"

/* Flags of accesses, beside the detector's. */
#define SYNC_MAYBE_ATOMIC	RACE_USER1	/* plain, of a word that others access locked */
#define SYNC_DESCRIPTOR	RACE_USER2	/* of a descriptor, and not of memory */

#define SYNC_OBJECT		RACE_USER3	/* of an object of pthreads, as a whole */

/* Where the detector has descriptors, and these objects; no memory of a program is there. */
#define SYNC_DESCRIPTORS	(1ull << 62)
#define SYNC_OBJECTS		(1ull << 61)

#define SYNC_BATCH	256u
#define SYNC_CODES	4096u	/* places of which it is remembered whose code they are.. */
#define SYNC_LEAPS	1024u	/* ..and jumps of which it is whether they leave a function */

/** struct sync_words - words that are known to be atomic, from one pass to the next */
struct sync_words {
	struct { u32 process; u64 word; } *v;
	size_t n, room;
};

#define SYNC_ROUND	16u

/** struct sync_round - what the program's code did since the thread slept last */
struct sync_round {
	u64 hash, before[2];	/* of its accesses; of those before the last two times */
	u32 same;		/* so often it was one of these */
	u32 n;
	u64 at[SYNC_ROUND];	/* what it read first */
	u32 size[SYNC_ROUND];
};

#define SYNC_POLLED	4u

/** struct sync_read - a read of the program's code */
struct sync_read {
	u64 pc, at;
};

/** struct sync_poll - its last reads, and those before it slept */
struct sync_poll {
	struct sync_read last[SYNC_POLLED], before[SYNC_POLLED];
	u32 n;
	bool awake;		/* since it slept it has read nothing but @before */
};

#define SYNC_HELD_LOCKS	32u

/** struct sync_robust - robust mutexes that a thread holds */
struct sync_robust {
	u64 head;		/* of its list; 0: it has none */
	bool pending;		/* it is about to lock or unlock one */
	u64 locked;		/* the word that it locked then, not yet in the list; 0: none */
	u32 nheld;
	u64 held[SYNC_HELD_LOCKS];
};

enum sync_acquire_kind {
	SYNC_TAKES_NOTHING,
	SYNC_TAKES_MUTEX,
	SYNC_TAKES_SPIN,
	SYNC_TAKES_READ,	/* a read-write lock, for reading.. */
	SYNC_TAKES_WRITE,	/* ..or for writing */
};

/** struct sync_lock - a lock that a thread holds */
struct sync_lock {
	u64 address;
	u64 *frame;		/* where it was taken: return addresses, innermost first */
	u32 nframes;
	u32 times;		/* more than one: it is recursive */
	u32 waiting;		/* for a condition, without it; so many handlers ran, and one */
	enum sync_acquire_kind how;
	u64 block, block_size;	/* allocated, that it is in; of a wanted stack only */
};

/** struct sync_held_locks - those that it holds, the first taken first; see locks_held.c */
struct sync_held_locks {
	struct sync_lock *lock;
	u32 n, room;
	bool lost;		/* it may hold others: part of what it did is not known */
	u32 waiting;		/* for a condition, without one of them; as in struct sync_lock */
	u64 own_pc, own_address; /* the last locked instruction that was not in such a function */
};

/** struct sync_frame - a watched function that a thread is in */
struct sync_frame {
	u64 sp, pc;
	u16 function;		/* enum dep_function */
	u8 known;		/* a bit for each argument that is known */
	u32 level;		/* so many handlers were running */
	u32 depth;		/* of struct sync_thread.stack, with the call of it */
	u64 arg[DEP_FUNCTION_ARGS];
	u64 again;			/* of struct dep_call_values */
};

/** struct sync_calls - those that a thread is in, the outermost first */
struct sync_calls {
	struct sync_frame *frame;
	u32 n, room, level;
	u32 cancelling;		/* the level at which that is handled; 0: none */
	bool relocked;		/* there the mutex of the wait that it interrupted was locked */
	u32 nread;		/* read-write locks that it holds for reading */
	u64 read[SYNC_HELD_LOCKS];
};

/** struct sync_origin - where a block was allocated; kept in a pass with wanted stacks only */
struct sync_origin {
	u32 serial, tid, n;
	u64 frame[];		/* innermost first */
};

/** struct sync_heap - blocks that are allocated, by a hash of their address */
struct sync_heap {
	struct sync_block {
		u64 address, size;
		struct sync_origin *origin;
	} *block;
	u32 n, used, room;
	bool result_unused;		/* some are allocated of which the address is not known */
};

struct sync_fork;
struct sync_process;

/** struct sync_image - a process image, in which addresses mean one thing */
struct sync_image {
	struct sync_image *next;
	struct sync_events *feed;
	struct sync_process *process;
	u32 serial, pid, parent;
	/* An execve makes an image of the same process: serials of the first one.. */
	u32 first;
	u32 creator;		/* ..and of that of the process that forked it; 0: not known */
	u32 number;		/* in its group, from 1 on.. */
	u32 told;		/* ..and the first one's, by which signals reach the process */
	bool grouped;		/* see shared_mappings.h */
	bool multi;		/* it has had more than one thread */
	bool locks;		/* it has locked files */
	u32 alive, created;	/* threads that have begun, and that have not.. */
	u32 seen;		/* ..and all that ever began */
	struct sync_code {
		u64 pc;
		u32 code;	/* enum dep_code */
	} *code;		/* by a hash of pc; NULL: of none yet */
	struct sync_leap {
		u64 from, to;
		bool leaves;
	} *leap;		/* as well */
	struct sync_facts *scope;
	struct sync_files files;
	struct sync_heap heap;
	bool functions;		/* calls of watched functions are seen */
	struct sync_maps maps;
	struct sync_fork *fork;	/* it began by, and has done nothing yet */
};

/** struct sync_thread - a recorded thread */
struct sync_thread {
	struct sync_process *process;
	struct sync_image *image;
	u32 serial, tid, index;		/* the detector's */
	struct sync_events *feed;
	bool begun, ended, joined;
	u32 life;		/* of the process */
	bool in_library;	/* making or ending a thread; see DEP_CODE_THREADS */
	u64 was_in_library;	/* bit 0: before the signal whose handler it is in, and so on */
	bool vforked;		/* in its parent's memory, but with descriptors of its own */
	/* The locked instruction at hand. */
	bool locked, wrote;
	u64 locked_pc, locked_at;
	u32 locked_size;
	/*
	 * Where it was called from; kept in a pass with wanted stacks only.  A jump to another
	 * function has the sp of the call before it, since it returns to where that does.
	 */
	struct { u64 pc, sp; } *stack;
	u32 depth, stack_room;
	u64 jump;		/* the last one, if it may be such a jump; else 0 */
	struct sync_round round;
	struct sync_poll poll;
	struct sync_robust robust;
	struct sync_calls calls;
	struct sync_held_locks held;
	bool muted;		/* in a function handled as a whole: see hooked_functions.c */
	struct race_ref ref[SYNC_BATCH];
	u32 nrefs;
	/* Of the system call to come. */
	struct adept_ev_buffer buffer[ADEPT_BUFFERS];
	u32 nbuffers;
	struct adept_ev_shared shared;
	bool has_shared;
	struct { u64 object, mutex, pc, epoch; } wait;	/* for a condition; object 0: none */
};

#define SYNC_GROUP	0u	/* no image is called that */

/** struct sync_process - an image, or all of a group, whose threads have clocks in common */
struct sync_process {
	struct sync_process *next;
	struct sync_thread_log *future;	/* prediction; NULL: none */
	bool too_many_threads;		/* not followed any more: sync_too_many_threads() */
	u32 serial;		/* of the image, or SYNC_GROUP */
	struct race_detector *detector;	/* NULL: it is over, and nobody will ask for it */
	u32 lives;		/* so often it was over */
	struct sync_facts *scope;
	struct sync_objects objects;
	struct sync_regions regions;
	u32 nimages;
	struct sync_image **of;	/* of its threads, by the detector's number */
	u32 nof;
	struct sync_thread **waiter;	/* those that wait for conditions */
	u32 nwaiters, waiters_room;
	u32 last_file;
	u32 signal_file;	/* that which signalfd() makes; 0: none yet */
	struct race_rows *rows;
	u32 told;		/* of them, to who wants to hear of each at once */
	struct {
		struct sync_image *image;	/* in which it was; NULL: it has begun */
		u32 tid, index, flags;
		u64 child_tid;
	} *child;		/* created and not yet ended */
	u32 nchildren, children_room;
	struct { u64 start, size; } *stack;	/* mapped for stacks */
	u32 nstacks, stacks_room;
};

/** struct sync_stack - a wanted stack: of the access of @pc in this interval of a thread */
struct sync_stack {
	struct sync_process *process;	/* of the pass at hand */
	u32 process_serial, index;
	u64 epoch, pc, address;
	u32 size, flags;
	u32 thread, tid;		/* found: serial and tid */
	u64 *frame;			/* return addresses, innermost first */
	u32 nframes;
	u32 creator, creator_tid;	/* of that thread, and where it did: thread_creation.c */
	u64 *birth;
	u32 nbirth;
	u64 block, block_size;		/* that it is in, then */
	struct sync_origin *origin;
	struct sync_lock *held;	/* then */
	u32 nheld;
	bool held_lost, held_unseen;	/* and maybe others, since functions were not seen */
	u64 own_pc, own_address;	/* as of struct sync_held_locks */
	bool found;
};

/*
 * The first pass is shown the first one of repeated accesses, and finds what may race, and more
 * than that.  Exact ones are shown what it found.
 */
enum sync_pass {
	SYNC_ALL,		/* everything at once */
	SYNC_FIRST,
	SYNC_EXACT,
};

struct sync_events {
	struct dep_store *store;
	const struct dep_races_options *options;
	struct sync_process *processes;
	struct sync_image *images;
	struct sync_serials process_by, image_by;	/* the same.. */
	struct sync_serials scope_by;			/* ..and @scopes */
	struct sync_fork *forks;	/* whose child has not been seen */
	struct sync_index by_pid;	/* the first @nby_pid processes of @store */
	struct sync_index by_image;	/* the first @nby_image threads, by their process */
	size_t nby_pid, nby_image;
	struct sync_shared_maps *shares;	/* NULL: nobody looks for groups */
	struct sync_thread **thread;	/* by serial */
	size_t nthreads;
	struct sync_words *words;	/* of earlier passes; what this one learns is added */
	size_t nknown;			/* of @words: known from the beginning */
	enum sync_pass pass;
	struct sync_facts *scopes;	/* kept from one pass to the next */
	pthread_mutex_t asking;		/* held while options->code() or leaves() runs */
	struct sync_insns insns;	/* stay until sync_insns_free() */
	u32 ntoo_many_threads;			/* processes, in this pass */
	struct sync_stack *want;
	size_t nwant;
	bool predict;
	struct sync_thread_log *futures;	/* stay until sync_thread_logs_free() */
	int err;
};

/** sync_items() - struct dep_analyzer.items of a struct sync_events */
ssize_t sync_items(void *self, const struct dep_thread *t, const struct dep_item *items,
		   size_t n, bool late);
int sync_gap(void *self, const struct dep_thread *t);
int sync_end(void *self, const struct dep_thread *t);
/** sync_code() - whose code is at @pc? */
enum dep_code sync_code(struct sync_events *f, struct sync_image *m, u64 pc);
/** sync_ask_code() - the same without a memory; any thread */
enum dep_code sync_ask_code(struct sync_events *f, u32 process, u64 pc);
void sync_free(struct sync_events *f);

/* ---- threads.c ---- */

int sync_no_memory(void);	/* -ENOMEM, with a message */
/** sync_process_of() - made if it is new; NULL: no memory */
struct sync_process *sync_process_of(struct sync_events *f, u32 serial);
/** sync_thread_of() - made if it is new; NULL: no memory */
struct sync_thread *sync_thread_of(struct sync_events *f, const struct dep_thread *t);
/** sync_thread_begin() - @t does something for the first time */
int sync_thread_begin(struct sync_thread *t);
/** sync_thread_created() - the child of a clone is ordered after its parent from there on */
int sync_thread_created(struct sync_thread *t, const struct adept_ev_fork *ev);
/**
 * sync_thread_ended() - @t does nothing more
 *
 * The kernel clears a word then; who sees that goes on after all that the thread did.
 */
int sync_thread_ended(struct sync_thread *t);

/**
 * sync_too_many_threads() - @p has more threads, or images, than there are numbers
 *
 * What the others do may order those that have one, so nothing is told of any of them from here
 * on: what was found is true.
 */
void sync_too_many_threads(struct sync_events *f, struct sync_process *p);

/**
 * sync_process_over() - the image @m, which is not grouped, has ended
 *
 * What is not needed any more is freed: a session can have thousands of processes.
 */
int sync_process_over(struct sync_image *m);

/* ---- process_images.c ---- */

/** sync_image_of() - that of @t, made if it is new; NULL: no memory */
struct sync_image *sync_image_of(struct sync_events *f, const struct dep_thread *t);
/** sync_image_note() - @t, whose index is known, is its image's; 0 or -ENOMEM */
int sync_image_note(struct sync_thread *t);
/** sync_image_at() - that of the thread that @p's detector has as @index */
struct sync_image *sync_image_at(const struct sync_events *f, const struct sync_process *p,
				 u32 index);
/** sync_address_of() - where @m has what the detector has at @place */
u64 sync_address_of(const struct sync_image *m, u64 place);
/** sync_forked() - @t made a process: it begins with what @t's has now, and after it */
int sync_forked(struct sync_thread *t, u32 pid);
/** sync_image_begin() - @t, a thread of it that nobody in it created, begins */
int sync_image_begin(struct sync_thread *t);
/** sync_image_end() - @t ends, and with the last one the image */
int sync_image_end(struct sync_thread *t);
/** sync_waited() - @t has waited for process @pid of its group, 0: for any of its children */
int sync_waited(struct sync_thread *t, u32 pid);
/** sync_signal() - id of what is told to @m's process by signals with that number */
u64 sync_signal(const struct sync_image *m, u64 signo);
/** sync_send() - @t sends a signal to process @pid of its group; 0 and below: to any */
int sync_send(struct sync_thread *t, s64 pid, u64 signo);
/** sync_is_spin_word() - did a thread wait in a loop for this word to change? */
bool sync_is_spin_word(const struct sync_events *f, const struct sync_process *p, u64 word);
void sync_images_free(struct sync_events *f);

/** sync_at() - where the detector has @address of @t */
static inline u64 sync_at(const struct sync_thread *t, u64 address)
{
	return t->image->grouped ? sync_place(t->image, address, NULL) : address;
}

/** sync_range() - the same; @size is cut to what lies after it there, too */
static inline u64 sync_range(const struct sync_thread *t, u64 address, u64 *size)
{
	return t->image->grouped ? sync_place(t->image, address, size) : address;
}

/* ---- call_stacks.c ---- */

/** sync_note_call() - a call, a return or a jump of @t */
int sync_note_call(struct sync_thread *t, const struct dep_call *c);
/** sync_note_pc() - @t is at @pc now: was t->jump one to another function? */
int sync_note_pc(struct sync_thread *t, u64 pc);
/** sync_want_stack() - keep the stack if this access is one of those that are wanted */
int sync_want_stack(struct sync_events *f, struct sync_thread *t, u64 pc, u64 address, u64 size);

/** sync_note_creation() - @t creates the thread @index; keeps its stack if that one is wanted */
int sync_note_creation(struct sync_thread *t, u32 index);

/* ---- events.c, for syscalls.c ---- */

/** sync_flush() - tell the detector of the accesses that are waiting */
int sync_flush(struct sync_thread *t);
/** sync_access() - one more access */
int sync_access(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags);
int sync_acquire(struct sync_thread *t, enum sync_object_kind kind, u64 id);
int sync_release(struct sync_thread *t, enum sync_object_kind kind, u64 id);

/** sync_forget() - what is at that place is new to the program, or not its own any more */
int sync_forget(struct sync_thread *t, u64 address, u64 size);
/** sync_barrier_all() - order all threads of @t's process, or its image, both ways, here */
int sync_barrier_all(struct sync_thread *t, bool image);
/** sync_acquire_all() - of all objects of a kind */
int sync_acquire_all(struct sync_thread *t, enum sync_object_kind kind);
/** sync_stack() - memory has been mapped for the stack of a thread to be */
int sync_stack(struct sync_process *p, u64 start, u64 size);

/** sync_call_foreseen() - foreseen() of struct dep_analyzer: its beginning is always the same */
bool sync_call_foreseen(void *self, uint32_t nr, const uint64_t args[6]);
/** sync_call_enter() - what a system call lets others see, at its first timestamp */
int sync_call_enter(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc);
/** sync_call_leave() - what it may have waited for, and what it did, at its second one */
int sync_call_leave(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc);

/* ---- spin_wait.c ---- */

/** sync_wait_access() - a plain access of the program's code */
void sync_wait_access(struct sync_thread *t, const struct dep_ref *r);
/** sync_wait_page() - many of them, which it is not known by what it waits for */
void sync_wait_page(struct sync_thread *t, const struct dep_page_accesses *j);
/** sync_wait_call() - a system call, which has ended */
int sync_wait_call(struct sync_thread *t, const struct adept_ev_syscall *c);

/* ---- sleep_polling.c ---- */

/** sync_poll_access() - a plain access of the program's code */
void sync_poll_access(struct sync_thread *t, const struct dep_ref *r);
/** sync_poll_others() - it did other things than to read what it has read before */
void sync_poll_others(struct sync_thread *t);
/** sync_poll_synchronised() - a locked instruction, or a system call other than to sleep */
void sync_poll_synchronised(struct sync_thread *t);
/** sync_poll_slept() - it sleeps, which is no order */
void sync_poll_slept(struct sync_thread *t);

/* ---- robust_mutexes.c ---- */

/** sync_robust_list() - set_robust_list() */
void sync_robust_list(struct sync_thread *t, u64 head);
/** sync_robust_write() - a plain write to the list's head */
void sync_robust_write(struct sync_thread *t, u64 address);
/** sync_robust_locked() - a locked instruction changed @word */
void sync_robust_locked(struct sync_thread *t, u64 word);
/** sync_robust_end() - the thread ends, and what it holds is unlocked */
int sync_robust_end(struct sync_thread *t);

/* ---- library_races.c ---- */

/** sync_is_runtimes() - is that between two accesses of a runtime library, and no race? */
bool sync_is_runtimes(const struct sync_events *f, const struct sync_process *p,
		      const struct race_found *found);
/** sync_is_librarys() - the same of any library's own, by where the accesses were called from */
bool sync_is_librarys(struct sync_events *f, const struct sync_stack *prior,
		      const struct sync_stack *current);
/** sync_maybe_atomic() - can its plain access be what a compiler made of an atomic one? */
bool sync_maybe_atomic(struct sync_events *f, struct sync_process *p,
		       const struct race_found *found);
/** sync_condition() - DEP_ACCESS_CONDITIONAL, or 0 */
u32 sync_condition(struct sync_events *f, const struct sync_process *p,
		   const struct race_access *a);

/* ---- syscall_buffers.c ---- */

/** sync_note_buffer() - one that the system call to come found in memory */
void sync_note_buffer(struct sync_thread *t, const struct adept_ev_buffer *b);

/** sync_buffers() - the memory that a call reads (@enter) or writes, of what it was given */
int sync_buffers(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

/* ---- descriptors.c ---- */

/** sync_descriptors() - the descriptors that a call uses or closes (@enter), or makes */
int sync_descriptors(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

#endif
