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
#define ORDER_MAYBE_ATOMIC	RACE_USER1	/* plain, of a word that others access locked */
#define ORDER_DESCRIPTOR	RACE_USER2	/* of a descriptor, and not of memory */

#define ORDER_OBJECT		RACE_USER3	/* of an object of pthreads, as a whole */

/* Where the detector has descriptors, and these objects; no memory of a program is there. */
#define ORDER_DESCRIPTORS	(1ull << 62)
#define ORDER_OBJECTS		(1ull << 61)

#define ORDER_BATCH	256u
#define ORDER_CODES	4096u	/* places of which it is remembered whose code they are.. */
#define ORDER_LEAPS	1024u	/* ..and jumps of which it is whether they leave a function */

/** struct order_words - words that are known to be atomic, from one pass to the next */
struct order_words {
	struct { u32 process; u64 word; } *v;
	size_t n, room;
};

#define ORDER_ROUND	16u

/** struct order_round - what the program's code did since the thread slept last */
struct order_round {
	u64 hash, before[2];	/* of its accesses; of those before the last two times */
	u32 same;		/* so often it was one of these */
	u32 n;
	u64 at[ORDER_ROUND];	/* what it read first */
	u32 size[ORDER_ROUND];
};

#define ORDER_POLLED	4u

/** struct order_read - a read of the program's code */
struct order_read {
	u64 pc, at;
};

/** struct order_poll - its last reads, and those before it slept */
struct order_poll {
	struct order_read last[ORDER_POLLED], before[ORDER_POLLED];
	u32 n;
	bool awake;		/* since it slept it has read nothing but @before */
};

#define ORDER_HELD	32u

/** struct order_robust - robust mutexes that a thread holds */
struct order_robust {
	u64 head;		/* of its list; 0: it has none */
	bool pending;		/* it is about to lock or unlock one */
	u64 locked;		/* the word that it locked then, not yet in the list; 0: none */
	u32 nheld;
	u64 held[ORDER_HELD];
};

enum order_take {
	ORDER_TAKES_NOTHING,
	ORDER_TAKES_MUTEX,
	ORDER_TAKES_SPIN,
	ORDER_TAKES_READ,	/* a read-write lock, for reading.. */
	ORDER_TAKES_WRITE,	/* ..or for writing */
};

/** struct order_lock - a lock that a thread holds */
struct order_lock {
	u64 address;
	u64 *frame;		/* where it was taken: return addresses, innermost first */
	u32 nframes;
	u32 times;		/* more than one: it is recursive */
	u32 waiting;		/* for a condition, without it; so many handlers ran, and one */
	enum order_take how;
	u64 block, block_size;	/* allocated, that it is in; of a wanted stack only */
};

/** struct order_held - those that it holds, the first taken first; see locks_held.c */
struct order_held {
	struct order_lock *lock;
	u32 n, room;
	bool lost;		/* it may hold others: part of what it did is not known */
	u32 waiting;		/* for a condition, without one of them; as in struct order_lock */
	u64 own_pc, own_address; /* the last locked instruction that was not in such a function */
};

/** struct order_frame - a watched function that a thread is in */
struct order_frame {
	u64 sp, pc;
	u16 function;		/* enum dep_function */
	u8 known;		/* a bit for each argument that is known */
	u32 level;		/* so many handlers were running */
	u32 depth;		/* of struct order_thread.stack, with the call of it */
	u64 arg[DEP_FUNCTION_ARGS];
	u64 again;			/* of struct dep_passed */
};

/** struct order_calls - those that a thread is in, the outermost first */
struct order_calls {
	struct order_frame *frame;
	u32 n, room, level;
	u32 cancelling;		/* the level at which that is handled; 0: none */
	bool relocked;		/* there the mutex of the wait that it interrupted was locked */
	u32 nread;		/* read-write locks that it holds for reading */
	u64 read[ORDER_HELD];
};

/** struct order_origin - where a block was allocated; kept in a pass with wanted stacks only */
struct order_origin {
	u32 serial, tid, n;
	u64 frame[];		/* innermost first */
};

/** struct order_heap - blocks that are allocated, by a hash of their address */
struct order_heap {
	struct order_block {
		u64 address, size;
		struct order_origin *origin;
	} *block;
	u32 n, used, room;
	bool blind;		/* some are allocated of which the address is not known */
};

struct order_fork;
struct order_process;

/** struct order_image - a process image, in which addresses mean one thing */
struct order_image {
	struct order_image *next;
	struct order_feed *feed;
	struct order_process *process;
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
	struct order_code {
		u64 pc;
		u32 code;	/* enum dep_code */
	} *code;		/* by a hash of pc; NULL: of none yet */
	struct order_leap {
		u64 from, to;
		bool leaves;
	} *leap;		/* as well */
	struct order_scope *scope;
	struct order_files files;
	struct order_heap heap;
	bool functions;		/* calls of watched functions are seen */
	struct order_maps maps;
	struct order_fork *fork;	/* it began by, and has done nothing yet */
};

/** struct order_thread - a recorded thread */
struct order_thread {
	struct order_process *process;
	struct order_image *image;
	u32 serial, tid, index;		/* the detector's */
	struct order_feed *feed;
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
	struct order_round round;
	struct order_poll poll;
	struct order_robust robust;
	struct order_calls calls;
	struct order_held held;
	bool muted;		/* in a function handled as a whole: see hooked_functions.c */
	struct race_ref ref[ORDER_BATCH];
	u32 nrefs;
	/* Of the system call to come. */
	struct adept_ev_buffer buffer[ADEPT_BUFFERS];
	u32 nbuffers;
	struct adept_ev_shared shared;
	bool has_shared;
	struct { u64 object, mutex, pc, epoch; } wait;	/* for a condition; object 0: none */
};

#define ORDER_GROUP	0u	/* no image is called that */

/** struct order_process - an image, or all of a group, whose threads have clocks in common */
struct order_process {
	struct order_process *next;
	struct order_future *future;	/* prediction; NULL: none */
	bool crowded;		/* it is not followed any more: see order_crowded() */
	u32 serial;		/* of the image, or ORDER_GROUP */
	struct race_detector *detector;	/* NULL: it is over, and nobody will ask for it */
	u32 lives;		/* so often it was over */
	struct order_scope *scope;
	struct order_objects objects;
	struct order_regions regions;
	u32 nimages;
	struct order_image **of;	/* of its threads, by the detector's number */
	u32 nof;
	struct order_thread **waiter;	/* those that wait for conditions */
	u32 nwaiters, waiters_room;
	u32 last_file;
	u32 signal_file;	/* that which signalfd() makes; 0: none yet */
	struct race_rows *rows;
	u32 told;		/* of them, to who wants to hear of each at once */
	struct {
		struct order_image *image;	/* in which it was; NULL: it has begun */
		u32 tid, index, flags;
		u64 child_tid;
	} *child;		/* created and not yet ended */
	u32 nchildren, children_room;
	struct { u64 start, size; } *stack;	/* mapped for stacks */
	u32 nstacks, stacks_room;
};

/** struct order_stack - a wanted stack: of the access of @pc in this interval of a thread */
struct order_stack {
	struct order_process *process;	/* of the pass at hand */
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
	struct order_origin *origin;
	struct order_lock *held;	/* then */
	u32 nheld;
	bool held_lost, held_unseen;	/* and maybe others, since functions were not seen */
	u64 own_pc, own_address;	/* as of struct order_held */
	bool found;
};

/*
 * The first pass is shown the first one of repeated accesses, and finds what may race, and more
 * than that.  Exact ones are shown what it found.
 */
enum order_pass {
	ORDER_ALL,		/* everything at once */
	ORDER_FIRST,
	ORDER_EXACT,
};

struct order_feed {
	struct dep_store *store;
	const struct dep_races_options *options;
	struct order_process *processes;
	struct order_image *images;
	struct order_serials process_by, image_by;	/* the same.. */
	struct order_serials scope_by;			/* ..and @scopes */
	struct order_fork *forks;	/* whose child has not been seen */
	struct order_index by_pid;	/* the first @nby_pid processes of @store */
	struct order_index by_image;	/* the first @nby_image threads, by their process */
	size_t nby_pid, nby_image;
	struct order_shares *shares;	/* NULL: nobody looks for groups */
	struct order_thread **thread;	/* by serial */
	size_t nthreads;
	struct order_words *words;	/* of earlier passes; what this one learns is added */
	size_t nknown;			/* of @words: known from the beginning */
	enum order_pass pass;
	struct order_scope *scopes;	/* kept from one pass to the next */
	pthread_mutex_t asking;		/* held while options->code() or leaves() runs */
	struct order_insns insns;	/* stay until order_insns_free() */
	u32 ncrowded;			/* processes, in this pass */
	struct order_stack *want;
	size_t nwant;
	bool predict;
	struct order_future *futures;	/* stay until order_futures_free() */
	int err;
};

/** order_items() - struct dep_analyzer.items of a struct order_feed */
ssize_t order_items(void *self, const struct dep_thread *t, const struct dep_item *items,
		    size_t n, bool late);
int order_gap(void *self, const struct dep_thread *t);
int order_end(void *self, const struct dep_thread *t);
/** order_code() - whose code is at @pc? */
enum dep_code order_code(struct order_feed *f, struct order_image *m, u64 pc);
/** order_ask_code() - the same without a memory; any thread */
enum dep_code order_ask_code(struct order_feed *f, u32 process, u64 pc);
void order_free(struct order_feed *f);

/* ---- threads.c ---- */

int order_no_memory(void);	/* -ENOMEM, with a message */
/** order_process_of() - made if it is new; NULL: no memory */
struct order_process *order_process_of(struct order_feed *f, u32 serial);
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

/**
 * order_crowded() - @p has more threads, or images, than there are numbers
 *
 * What the others do may order those that have one, so nothing is told of any of them from here
 * on: what was found is true.
 */
void order_crowded(struct order_feed *f, struct order_process *p);

/**
 * order_process_over() - the image @m, which is not grouped, has ended
 *
 * What is not needed any more is freed: a session can have thousands of processes.
 */
int order_process_over(struct order_image *m);

/* ---- process_images.c ---- */

/** order_image_of() - that of @t, made if it is new; NULL: no memory */
struct order_image *order_image_of(struct order_feed *f, const struct dep_thread *t);
/** order_image_note() - @t, whose index is known, is its image's; 0 or -ENOMEM */
int order_image_note(struct order_thread *t);
/** order_image_at() - that of the thread that @p's detector has as @index */
struct order_image *order_image_at(const struct order_feed *f, const struct order_process *p,
				   u32 index);
/** order_address_of() - where @m has what the detector has at @place */
u64 order_address_of(const struct order_image *m, u64 place);
/** order_forked() - @t made a process: it begins with what @t's has now, and behind it */
int order_forked(struct order_thread *t, u32 pid);
/** order_image_begin() - @t, a thread of it that nobody in it created, begins */
int order_image_begin(struct order_thread *t);
/** order_image_end() - @t ends, and with the last one the image */
int order_image_end(struct order_thread *t);
/** order_waited() - @t has waited for process @pid of its group, 0: for any of its children */
int order_waited(struct order_thread *t, u32 pid);
/** order_signal() - id of what is told to @m's process by signals with that number */
u64 order_signal(const struct order_image *m, u64 signo);
/** order_send() - @t sends a signal to process @pid of its group; 0 and below: to any */
int order_send(struct order_thread *t, s64 pid, u64 signo);
/** order_is_spun() - did a thread wait in a loop for this word to change? */
bool order_is_spun(const struct order_feed *f, const struct order_process *p, u64 word);
void order_images_free(struct order_feed *f);

/** order_at() - where the detector has @address of @t */
static inline u64 order_at(const struct order_thread *t, u64 address)
{
	return t->image->grouped ? order_place(t->image, address, NULL) : address;
}

/** order_range() - the same; @size is cut to what lies behind it there, too */
static inline u64 order_range(const struct order_thread *t, u64 address, u64 *size)
{
	return t->image->grouped ? order_place(t->image, address, size) : address;
}

/* ---- call_stacks.c ---- */

/** order_note_call() - a call, a return or a jump of @t */
int order_note_call(struct order_thread *t, const struct dep_call *c);
/** order_note_place() - @t is at @pc now: was t->jump one to another function? */
int order_note_place(struct order_thread *t, u64 pc);
/** order_look_for() - keep the stack if this access is one of those that are wanted */
int order_look_for(struct order_feed *f, struct order_thread *t, u64 pc, u64 address, u64 size);

/** order_note_birth() - @t creates the thread @index; keeps its stack if that one is wanted */
int order_note_birth(struct order_thread *t, u32 index);

/* ---- events.c, for syscalls.c ---- */

/** order_flush() - tell the detector of the accesses that are waiting */
int order_flush(struct order_thread *t);
/** order_access() - one more access */
int order_access(struct order_thread *t, u64 pc, u64 address, u64 size, u32 flags);
int order_acquire(struct order_thread *t, enum order_kind kind, u64 id);
int order_release(struct order_thread *t, enum order_kind kind, u64 id);

/** order_forget() - what is at that place is new to the program, or not its own any more */
int order_forget(struct order_thread *t, u64 address, u64 size);
/** order_everything() - order all threads of @t's process, or its image, both ways, here */
int order_everything(struct order_thread *t, bool image);
/** order_acquire_all() - of all objects of a kind */
int order_acquire_all(struct order_thread *t, enum order_kind kind);
/** order_stack() - memory has been mapped for the stack of a thread to be */
int order_stack(struct order_process *p, u64 start, u64 size);

/** order_call_foreseen() - foreseen() of struct dep_analyzer: its beginning is always the same */
bool order_call_foreseen(void *self, uint32_t nr, const uint64_t args[6]);
/** order_call_enter() - what a system call lets others see, at its first ticket */
int order_call_enter(struct order_thread *t, const struct adept_ev_syscall *c, u64 pc);
/** order_call_leave() - what it may have waited for, and what it did, at its second one */
int order_call_leave(struct order_thread *t, const struct adept_ev_syscall *c, u64 pc);

/* ---- spin_wait.c ---- */

/** order_wait_access() - a plain access of the program's code */
void order_wait_access(struct order_thread *t, const struct dep_ref *r);
/** order_wait_joined() - many of them, which it is not known by what it waits for */
void order_wait_joined(struct order_thread *t, const struct dep_joined *j);
/** order_wait_call() - a system call, which has ended */
int order_wait_call(struct order_thread *t, const struct adept_ev_syscall *c);

/* ---- sleep_polling.c ---- */

/** order_poll_access() - a plain access of the program's code */
void order_poll_access(struct order_thread *t, const struct dep_ref *r);
/** order_poll_others() - it did other things than to read what it has read before */
void order_poll_others(struct order_thread *t);
/** order_poll_synchronised() - a locked instruction, or a system call other than to sleep */
void order_poll_synchronised(struct order_thread *t);
/** order_poll_slept() - it sleeps, which is no order */
void order_poll_slept(struct order_thread *t);

/* ---- robust_mutexes.c ---- */

/** order_robust_list() - set_robust_list() */
void order_robust_list(struct order_thread *t, u64 head);
/** order_robust_write() - a plain write to the list's head */
void order_robust_write(struct order_thread *t, u64 address);
/** order_robust_locked() - a locked instruction changed @word */
void order_robust_locked(struct order_thread *t, u64 word);
/** order_robust_end() - the thread ends, and what it holds is unlocked */
int order_robust_end(struct order_thread *t);

/* ---- library_races.c ---- */

/** order_is_runtimes() - is that between two accesses of a runtime library, and no race? */
bool order_is_runtimes(const struct order_feed *f, const struct order_process *p,
		       const struct race_found *found);
/** order_is_librarys() - the same of any library's own, by where the accesses were called from */
bool order_is_librarys(struct order_feed *f, const struct order_stack *prior,
		       const struct order_stack *current);
/** order_maybe_atomic() - can its plain access be what a compiler made of an atomic one? */
bool order_maybe_atomic(struct order_feed *f, struct order_process *p,
			const struct race_found *found);
/** order_condition() - DEP_ACCESS_CONDITIONAL, or 0 */
u32 order_condition(struct order_feed *f, const struct order_process *p,
		    const struct race_access *a);

/* ---- syscall_buffers.c ---- */

/** order_note_buffer() - one that the system call to come found in memory */
void order_note_buffer(struct order_thread *t, const struct adept_ev_buffer *b);

/** order_buffers() - the memory that a call reads (@enter) or writes, of what it was given */
int order_buffers(struct order_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

/* ---- descriptors.c ---- */

/** order_descriptors() - the descriptors that a call uses or closes (@enter), or makes */
int order_descriptors(struct order_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter);

#endif
