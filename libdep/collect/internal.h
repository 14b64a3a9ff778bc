/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the collector's files share: its own view of every slot, kept apart from the
 * shared memory because nothing there can be trusted to stay what it was.
 */
#ifndef ADEPT_COLLECT_INTERNAL_H
#define ADEPT_COLLECT_INTERNAL_H

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <dep/store.h>

#include "collect.h"
#include "write_queue.h"

/** struct proc_slot - the collector's side of one struct adept_proc */
struct proc_slot {
	bool open;		/* registered in the store, not yet ended */
	bool broken;		/* its descriptors made no sense: consumed and thrown away */
	bool dying;		/* gone; its rings are being emptied */
	bool closing;		/* everything of it is queued; its slot is free when.. */
	bool stored;		/* ..the store has it: set by a storing thread */
	u64 unresolved_ns;	/* when its number was first looked for in vain, 0 = it was not */
	bool gone;		/* when it was opened: after this pass looked at its threads */
	bool following;		/* exec_ops.begin succeeded, outcome not known yet */
	u32 exec_tid;
	bool native;		/* told to execve natively; watched until its mapping is gone */
	bool counted;		/* ..and that is in the session's native_images */
	u32 serial;
	u32 pid;
	char *exe;		/* allocated */
	int pidfd;		/* -1: none, look at the pid itself */
	u64 desc_taken;		/* the shared desc_tail follows when the store has them.. */
	u64 desc_stored;	/* ..and this, of storing threads: bytes in the store */
	u64 skip;		/* bytes of descriptors ahead that an earlier collector stored */
	u64 claimed_ns;		/* when it was first seen CLAIMED, 0 = it is not */
	u64 native_ns;		/* when it was told so */
	u64 checked_ns;		/* when its mapping was last looked for */
};

/** struct thread_slot - the collector's side of one struct adept_thread */
struct thread_slot {
	bool open;
	bool broken;		/* its ring made no sense: emptied and thrown away */
	bool complained;
	bool closing, stored;	/* as of a process */
	u32 serial;
	u32 tid;
	u32 proc;
	u32 taken;		/* chunks queued; given back are.. */
	u32 given;		/* ..so many, written by storing threads */
	u32 state, head;	/* snapshot of this pass */
	u64 next_seq;
	bool adopted;		/* chunks before next_seq are stored, and may not be given back */
	u64 dropped_chunks, dropped_bytes;
	u64 absent_chunks, absent_bytes;
	u64 flushes, null_bytes;	/* when it has ended */
	u64 start_ns;
	u32 end;		/* enum dep_thread_end */
	/* of the kernel module's ring: module_chunks.c */
	struct dep_module_chunks *filled;	/* taken and not yet given back, in order.. */
	u32 nfilled, nqueued;	/* ..of which the first are queued */
	u32 returned;		/* of given, those that the module was told of */
	bool last_taken;
	u64 unreadable_chunks, unreadable_bytes;	/* left out: their begin is unknown */
};

/** struct dep_collector - everything; the loop's thread owns all but @queue's inside */
struct dep_collector {
	struct dep_session *s;
	struct dep_writer *w;
	struct dep_pool *pool;	/* of its own; NULL: the caller's */
	struct dep_queue *queue;
	struct dep_exec_ops ops;
	const struct dep_base *base;	/* NULL: whatever a slot says is looked up */

	struct proc_slot *procs;
	struct thread_slot *threads;
	u32 *used;		/* thread slots in use, of this pass */
	u32 nused;
	u32 nslots;		/* process slots that were ever claimed */
	u32 nopen;		/* open process slots */
	u32 nclosing;		/* slots that wait for the store */
	u32 nclaimed;		/* process slots in the making that still deserve waiting */
	u64 scanned_ns;		/* when all processes were last looked through, by pidns.c */
	u64 polled_ns;		/* when dep_procs_poll() last asked who is gone */
	u32 nfollowing;		/* execves being followed */
	bool unfollow;		/* no others are to be */
	pid_t child;
	bool child_gone;	/* and reaped: its number may belong to somebody else */

	struct dep_cuts *cuts;	/* with ADEPT_S_MODULE: what crossings mean */

	u8 *serials;		/* bitmap of serials used */
	size_t serials_size;

	u32 nprocs_seen, nthreads_seen;
	u64 null_bytes;
	u64 raw_bytes, nchunks;
	u32 broken;		/* rings and descriptors that made no sense */
	struct dep_loss loss;
};

/* ---- slots.c: helpers for both tables ---- */

#define load(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

static inline void futex_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

static inline u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/**
 * dep_serial_take() - claim @serial for a process or thread
 *
 * Return: false if it cannot be one: zero, absurdly large or in use already.
 */
bool dep_serial_take(struct dep_collector *c, u32 serial);

/** dep_slots_count() - set @nslots; slots that nobody ever used have no memory after them */
void dep_slots_count(struct dep_collector *c);

/** dep_table_seek() - next byte from @off on with memory (SEEK_DATA) or without; @end if none */
u64 dep_table_seek(struct dep_collector *c, u64 off, u64 end, int whence);

/** dep_punch() - give back the memory of a range; it reads as zero from then on */
void dep_punch(struct dep_collector *c, u64 off, u64 len);

/* ---- domain.c ---- */

/** dep_domain() - 1 + the founder's slot of the domain that keeps process slot @i, 0: none does */
u32 dep_domain(const struct dep_collector *c, u32 i);
/** dep_domains_tell() - tell all domains what others read of the first page; count what they did */
void dep_domains_tell(struct dep_collector *c);
/** dep_domain_process() - may process slot @i hold process @serial? */
bool dep_domain_process(const struct dep_collector *c, u32 i, u32 serial);
/** dep_domain_thread() - may thread slot @slot hold thread @serial of process slot @proc? */
bool dep_domain_thread(const struct dep_collector *c, u32 slot, u32 proc, u32 serial);
/**
 * dep_domain_describes() - may process slot @i describe that?
 * @at: where in all its descriptors
 * @desc: a whole one
 */
bool dep_domain_describes(const struct dep_collector *c, u32 i, u64 at, const void *desc);

/* ---- threads.c ---- */

/** dep_threads_snapshot() - find the slots in use and how far they have published */
void dep_threads_snapshot(struct dep_collector *c);
/** dep_threads_consume() - take what the snapshot saw; return true if anything was done */
bool dep_threads_consume(struct dep_collector *c);
/**
 * dep_threads_end_slot() - end all threads of the dead process in slot @proc
 *
 * Return: false if that is not possible yet; call again.
 */
bool dep_threads_end_slot(struct dep_collector *c, u32 proc);
/**
 * dep_threads_left_alive() - does a vfork child live on in slot @proc, its process being gone
 *
 * It goes on writing to its ring until it has executed something or ended.
 */
bool dep_threads_left_alive(struct dep_collector *c, u32 proc);
/**
 * dep_threads_leave() - take what living threads have written so far, for the last time
 *
 * Their slots stay theirs.  Return: false if that was not possible for all; call again.
 */
bool dep_threads_leave(struct dep_collector *c);
/** dep_threads_give_up() - close what dep_threads_leave() could not take; it is counted as lost */
void dep_threads_give_up(struct dep_collector *c);
/** dep_threads_release() - let everybody who waits for a chunk go on */
void dep_threads_release(struct dep_collector *c);

/* A record's id is stored after its values and lies before them: read upwards. */
void dep_copy_upwards(u8 *to, const u8 *from, size_t size);

/* ---- module_chunks.c: rings of the kernel module ---- */

/** dep_module_chunks_collect() - see what has been filled; before dep_procs_drain() */
void dep_module_chunks_collect(struct dep_collector *c);
/** dep_module_chunks_take() - take what can be taken of a slot, and give back what is stored */
void dep_module_chunks_take(struct dep_collector *c, u32 slot, bool *did);
/**
 * dep_module_chunks_finish() - take the rest of a thread
 * @living: it goes on; else it has ended, or its process has
 *
 * Return: false if that is not possible yet; call again.
 */
bool dep_module_chunks_finish(struct dep_collector *c, u32 slot, bool living);
/** dep_module_chunks_tally() - chunks ended and lost on the whole, to the thread's account */
void dep_module_chunks_tally(struct dep_collector *c, u32 slot);
/** dep_module_chunks_free() - the slot is free for another thread */
void dep_module_chunks_free(struct dep_collector *c, u32 slot);

/* ---- processes.c ---- */

/** dep_procs_poll() - who is gone; must come before the snapshot of the threads */
void dep_procs_poll(struct dep_collector *c);
/**
 * dep_procs_drain() - register new processes, empty all descriptor rings
 *
 * Return: 0 if one could not be emptied for want of room: no chunk may be taken then.
 */
int dep_procs_drain(struct dep_collector *c, bool *did);
/** dep_procs_end_slot() - end the processes that dep_procs_poll() found gone */
bool dep_procs_end_slot(struct dep_collector *c);
/**
 * dep_find_exe() - what @pid executes, allocated; "" if that is unknown
 * @cause: what made the process, as it says itself
 * @parent: serial of its parent
 */
char *dep_find_exe(struct dep_collector *c, u32 pid, u32 cause, u32 parent);
/** dep_proc_replaced() - is there a slot whose image was executed by that in slot @i */
bool dep_proc_replaced(struct dep_collector *c, u32 i);
void dep_procs_release(struct dep_collector *c);
void dep_procs_close(struct dep_collector *c);

/* ---- pidns.c: processes in other pid namespaces ---- */

/**
 * dep_pidns_process() - our number of the process in slot @i, which gave one of another namespace
 *
 * Proved by the session in its memory.  Return: 0 if it is not found.
 */
u32 dep_pidns_process(struct dep_collector *c, u32 i);
/** dep_pidns_exec_tid() - put our number of the thread that asks for execve into slot @i */
void dep_pidns_exec_tid(struct dep_collector *c, u32 i);

/* ---- adopt.c ---- */

/** dep_adopt_skip() - how much of @size bytes of descriptors at @data is in the store already */
size_t dep_adopt_skip(struct proc_slot *p, const u8 *data, size_t size);

/* ---- process_image.c ---- */

/** dep_image_alive() - does @pid still have the session file mapped; true if it cannot be told */
bool dep_image_alive(struct dep_collector *c, u32 pid);
/**
 * dep_image_of_other() - is thread @tid one of a process that is neither @pid nor we, and has the
 * session mapped
 */
bool dep_image_of_other(struct dep_collector *c, u32 tid, u32 pid, u32 *tgid);
/** dep_exec_step() - answer to and go on with execve of slot @i; may find its image gone */
void dep_exec_step(struct dep_collector *c, u32 i);

#endif
