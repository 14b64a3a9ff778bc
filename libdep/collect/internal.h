/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the collector's files: its own view of each slot. It is kept apart from shared memory,
 * which recorded processes can change at any time.
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
	bool open;		/* registered in the store and not ended */
	bool broken;		/* its descriptors were corrupt: they are discarded */
	bool dying;		/* has ended; its rings are being emptied */
	bool closing;		/* everything is queued; the slot is freed when @stored */
	bool stored;		/* set by a writer thread */
	u64 unresolved_ns;	/* time of the first failed search for its pid; 0: none */
	/* had ended when it was opened: its threads are looked at once more */
	bool gone;
	bool following;		/* exec_ops.begin() succeeded; the outcome is not known yet */
	u32 exec_tid;
	bool native;		/* executes natively: wait until its mapping is gone */
	bool counted;		/* ..and counted in the session's native_images */
	u32 serial;
	u32 pid;
	char *exe;		/* allocated */
	int pidfd;		/* -1: none; test the pid itself */
	u64 desc_taken;		/* descriptors queued; the shared desc_tail is what the store has */
	u64 desc_stored;	/* bytes in the store; written by writer threads */
	/* bytes of the next descriptors that an earlier collector has stored */
	u64 skip;
	u64 claimed_ns;		/* time when it was first seen CLAIMED; 0: it is not */
	u64 native_ns;		/* time when @native was set */
	u64 checked_ns;		/* time of the last look for its mapping */
};

/** struct thread_slot - the collector's side of one struct adept_thread */
struct thread_slot {
	bool open;
	bool broken;		/* its ring was corrupt: it is discarded */
	bool complained;
	bool closing, stored;	/* as in struct proc_slot */
	u32 serial;
	u32 tid;
	u32 proc;
	u32 taken;		/* chunks queued */
	u32 given;		/* chunks returned; written by writer threads */
	u32 state, head;	/* as seen in this pass */
	u64 next_seq;
	bool adopted;		/* chunks before next_seq are stored, but possibly not returned */
	u64 dropped_chunks, dropped_bytes;
	u64 absent_chunks, absent_bytes;
	u64 flushes, null_bytes;	/* set when it has ended */
	u64 start_ns;
	u32 end;		/* enum dep_thread_end */
	/* With rings of the kernel module: module_chunks.c */
	struct dep_module_chunks *filled;	/* taken and not returned, in order */
	u32 nfilled, nqueued;	/* the first @nqueued of them are queued */
	u32 returned;		/* part of @given that the module knows of */
	bool last_taken;
	/* left out because their begin registers are not known */
	u64 unreadable_chunks, unreadable_bytes;
};

/** struct dep_collector - owned by the loop's thread, except for the inside of @queue */
struct dep_collector {
	struct dep_session *s;
	struct dep_writer *w;
	struct dep_pool *pool;	/* own writer threads; NULL: the caller's */
	struct dep_queue *queue;
	struct dep_exec_ops ops;
	const struct dep_base *base;	/* NULL: look up the executable of any process */

	struct proc_slot *procs;
	struct thread_slot *threads;
	u32 *used;		/* thread slots in use in this pass */
	u32 nused;
	u32 nslots;		/* process slots that were ever used */
	u32 nopen;		/* open process slots */
	u32 nclosing;		/* slots that wait until the store has their end */
	/* process slots being created, for which the session does not end */
	u32 nclaimed;
	u64 scanned_ns;		/* last scan of all processes by pidns.c */
	u64 polled_ns;		/* last test for ended processes by dep_procs_poll() */
	u32 nfollowing;		/* number of execves in progress */
	bool unfollow;		/* follow no more execves */
	pid_t child;
	bool child_gone;	/* it was reaped: its pid may be reused */

	struct dep_cuts *cuts;	/* with ADEPT_S_MODULE: to interpret chunk ends */

	u8 *serials;		/* bitmap of serials used */
	size_t serials_size;

	u32 nprocs_seen, nthreads_seen;
	u64 null_bytes;
	u64 raw_bytes, nchunks;
	u32 broken;		/* rings and processes with corrupt data */
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
 * Return: false if it is invalid: zero, too large or in use.
 */
bool dep_serial_take(struct dep_collector *c, u32 serial);

/** dep_slots_count() - update @nslots; slots that were never used have no memory and get none */
void dep_slots_count(struct dep_collector *c);

/** dep_table_seek() - next byte from @off with memory (SEEK_DATA) or without; @end: none */
u64 dep_table_seek(struct dep_collector *c, u64 off, u64 end, int whence);

/** dep_punch() - free the memory of a range, which reads as zero from then on */
void dep_punch(struct dep_collector *c, u64 off, u64 len);

/* ---- domain.c ---- */

/** dep_domain() - domain of process slot @i: 1 + its founder's slot; 0: none */
u32 dep_domain(const struct dep_collector *c, u32 i);
/** dep_domains_tell() - copy session state to all domains, and collect their counters */
void dep_domains_tell(struct dep_collector *c);
/** dep_domain_process() - may process slot @i have @serial? */
bool dep_domain_process(const struct dep_collector *c, u32 i, u32 serial);
/** dep_domain_thread() - may thread slot @slot have @serial, in process slot @proc? */
bool dep_domain_thread(const struct dep_collector *c, u32 slot, u32 proc, u32 serial);
/**
 * dep_domain_describes() - may process slot @i write this descriptor?
 * @at: its position in the slot's descriptors
 * @desc: the whole descriptor
 */
bool dep_domain_describes(const struct dep_collector *c, u32 i, u64 at, const void *desc);

/* ---- threads.c ---- */

/** dep_threads_snapshot() - read which thread slots are in use, and their heads */
void dep_threads_snapshot(struct dep_collector *c);
/** dep_threads_consume() - take the chunks that the snapshot saw; true: there were some */
bool dep_threads_consume(struct dep_collector *c);
/**
 * dep_threads_end_slot() - end all threads of the dead process in slot @proc
 *
 * Return: false if that must wait: call again.
 */
bool dep_threads_end_slot(struct dep_collector *c, u32 proc);
/**
 * dep_threads_left_alive() - does a vfork child of the dead process in slot @proc live?
 *
 * It writes to its parent's ring until it calls execve or ends.
 */
bool dep_threads_left_alive(struct dep_collector *c, u32 proc);
/**
 * dep_threads_leave() - take what living threads have written, for the last time
 *
 * The threads keep their slots. Return: false if not all could be taken: call again.
 */
bool dep_threads_leave(struct dep_collector *c);
/** dep_threads_give_up() - close the threads that dep_threads_leave() could not take, as loss */
void dep_threads_give_up(struct dep_collector *c);
/** dep_threads_release() - wake all threads that wait for a chunk */
void dep_threads_release(struct dep_collector *c);

/* ---- module_chunks.c: rings of the kernel module ---- */

/** dep_module_chunks_collect() - fetch filled chunks; call it before dep_procs_drain() */
void dep_module_chunks_collect(struct dep_collector *c);
/** dep_module_chunks_take() - queue chunks of a slot, and return stored ones */
void dep_module_chunks_take(struct dep_collector *c, u32 slot, bool *did);
/**
 * dep_module_chunks_finish() - take the rest of a thread
 * @living: the thread goes on; otherwise it or its process has ended
 *
 * Return: false if that must wait: call again.
 */
bool dep_module_chunks_finish(struct dep_collector *c, u32 slot, bool living);
/** dep_module_chunks_tally() - add the ring's counters to the thread's */
void dep_module_chunks_tally(struct dep_collector *c, u32 slot);
/** dep_module_chunks_free() - free the ring for another thread */
void dep_module_chunks_free(struct dep_collector *c, u32 slot);

/* ---- processes.c ---- */

/** dep_procs_poll() - find processes that have ended; call it before dep_threads_snapshot() */
void dep_procs_poll(struct dep_collector *c);
/**
 * dep_procs_drain() - register new processes and empty all descriptor rings
 *
 * Return: 0 if the queue had no room for some: then no chunk may be taken.
 */
int dep_procs_drain(struct dep_collector *c, bool *did);
/** dep_procs_end_slot() - end the processes that dep_procs_poll() found */
bool dep_procs_end_slot(struct dep_collector *c);
/**
 * dep_find_exe() - executable of @pid, allocated; "": not known
 * @cause: what made the process, according to itself
 * @parent: serial of its parent
 */
char *dep_find_exe(struct dep_collector *c, u32 pid, u32 cause, u32 parent);
/** dep_proc_replaced() - has the image in slot @i executed another recorded one? */
bool dep_proc_replaced(struct dep_collector *c, u32 i);
void dep_procs_release(struct dep_collector *c);
void dep_procs_close(struct dep_collector *c);

/* ---- pidns.c: processes in other pid namespaces ---- */

/**
 * dep_pidns_process() - the collector's pid of slot @i's process in another pid namespace
 *
 * Verified by the session in the process's memory. Return: 0 if it was not found.
 */
u32 dep_pidns_process(struct dep_collector *c, u32 i);
/** dep_pidns_exec_tid() - store the collector's tid of the thread that calls execve in slot @i */
void dep_pidns_exec_tid(struct dep_collector *c, u32 i);

/* ---- adopt.c ---- */

/** dep_adopt_skip() - how many of @size bytes of descriptors at @data the store already has */
size_t dep_adopt_skip(struct proc_slot *p, const u8 *data, size_t size);

/* ---- process_image.c ---- */

/** dep_image_alive() - has @pid the session file mapped? true if that is not known */
bool dep_image_alive(struct dep_collector *c, u32 pid);
/**
 * dep_image_of_other() - has the process of thread @tid, which is not @pid, the session mapped?
 * @tgid: receives that process
 */
bool dep_image_of_other(struct dep_collector *c, u32 tid, u32 pid, u32 *tgid);
/** dep_exec_step() - handle a request or the progress of slot @i's execve */
void dep_exec_step(struct dep_collector *c, u32 i);

#endif
