/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State of the collector, shared by its files. The collector keeps its own data about each slot,
 * since recorded processes can change the shared memory at any time.
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
	bool broken;		/* descriptors of the process were corrupt: discard further ones */
	bool dying;		/* the process has ended; its rings are being emptied */
	bool closing;		/* all its data is queued; the slot is freed when @stored */
	bool stored;		/* the store has the process's end; set by a writer thread */
	u64 unresolved_ns;	/* time of the first failed search for the process's pid, or 0 */
	/* the process had ended when the slot was opened: the next pass closes the slot */
	bool gone;
	bool following;		/* exec_ops.begin() succeeded; the outcome is not known yet */
	u32 exec_tid;
	bool native;		/* the execve is not followed: wait until it unmaps the session */
	bool counted;		/* this execve is counted in the session's native_images */
	u32 serial;
	u32 pid;
	char *exe;		/* path of the executable, allocated */
	int pidfd;		/* -1: none; use kill(pid, 0) instead */
	/* total bytes of descriptors that were queued; adept_proc.desc_tail: that are stored */
	u64 desc_taken;
	u64 desc_stored;	/* bytes of descriptors in the store; written by writer threads */
	/* bytes of the next descriptors that an earlier collector has stored already */
	u64 skip;
	u64 claimed_ns;		/* time when the slot was first seen CLAIMED; 0: other state */
	u64 native_ns;		/* time when @native was set */
	u64 checked_ns;		/* time of the last dep_image_alive() for the process */
};

/** struct thread_slot - the collector's side of one struct adept_thread */
struct thread_slot {
	bool open;
	bool broken;		/* the ring was corrupt: discard further chunks */
	bool complained;
	bool closing, stored;	/* as in struct proc_slot */
	u32 serial;
	u32 tid;
	u32 proc;
	u32 taken;		/* number of chunks queued */
	u32 given;		/* number of chunks stored or rejected; written by writer threads */
	u32 state, head;	/* copies of the shared fields, made in this pass of the loop */
	u64 next_seq;
	/* from an ended collector: chunks before next_seq are stored, but maybe not returned */
	bool adopted;
	u64 dropped_chunks, dropped_bytes;
	u64 absent_chunks, absent_bytes;
	u64 flushes, null_bytes;	/* final counters, set when the thread has ended */
	u64 start_ns;
	u64 noted_call;		/* value of adept_thread.calling that made a trigger */
	u32 end;		/* enum dep_thread_end */
	/* The following fields are for rings of the kernel module (module_chunks.c). */
	struct dep_module_chunks *filled;	/* chunks taken and not returned, in order */
	u32 nfilled, nqueued;	/* chunks in @filled; the first @nqueued of them are queued */
	u32 returned;		/* number of chunks returned to the module, at most @given */
	bool last_taken;
	/* chunks not stored because the registers at their beginning are unknown */
	u64 unreadable_chunks, unreadable_bytes;
};

/** struct trimming - state of a trim of the window (threads_trim.c) */
struct trimming {
	enum { TRIM_NONE, TRIM_WANTED, TRIM_THREADS, TRIM_ENDING } step;
	u64 begin_ns;
	u32 *slot, *serial;	/* @n threads to look at; those before @at were */
	u32 n, at;
	u32 pending;		/* jobs that are not done; writer threads decrement it */
};

/** struct dep_collector - owned by the loop's thread, except for the contents of @queue */
struct dep_collector {
	struct dep_session *s;
	struct dep_writer *w;
	struct dep_pool *pool;	/* the collector's own writer threads; NULL: uses the caller's */
	struct dep_queue *queue;
	struct dep_window *window;	/* NULL: everything is stored */
	bool unwanted;		/* do not store what @window has */
	bool window_ended;	/* what @window had was queued; @dropped says what it lacked */
	struct dep_last dropped;
	struct dep_snapshot *snapshot;	/* not done yet, or NULL */
	struct trimming trimming;
	struct dep_kept why;	/* as of dep_collector_why() */
	struct dep_kept triggered[ADEPT_TRIGGERS];	/* not taken by dep_collector_triggered() */
	u32 ntriggered;
	/* the process whose last chunks are being taken; as in struct dep_job */
	u32 last_of;
	struct dep_exec_ops ops;
	const struct dep_base *base;	/* as in struct dep_collect_setup */

	struct proc_slot *procs;
	struct thread_slot *threads;
	u32 *used;		/* indices of the thread slots in use in this pass of the loop */
	u32 nused;
	u32 nslots;		/* number of process slots that were ever used */
	u32 nopen;		/* number of open process slots */
	u32 nclosing;		/* number of slots whose end is queued and not stored yet */
	/* number of process slots being claimed: the session does not end before they are used */
	u32 nclaimed;
	u64 scanned_ns;		/* last scan of all processes by pidns.c */
	u64 polled_ns;		/* last test for ended processes by dep_procs_poll() */
	u32 nfollowing;		/* number of execves in progress */
	bool unfollow;		/* follow no more execves */
	pid_t child;
	bool child_gone;	/* the launched child was reaped: its pid may be reused */

	struct dep_cuts *cuts;	/* with ADEPT_S_MODULE: fragments, to interpret chunk ends */

	u8 *serials;		/* bitmap of serials in use */
	size_t serials_size;

	u32 nprocs_seen, nthreads_seen;
	u64 null_bytes;
	u64 raw_bytes, nchunks;
	u32 broken;		/* number of rings and processes with corrupt data */
	struct dep_loss loss;
};

/* ---- slots.c: helpers for the tables of process slots and thread slots ---- */

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
 * Return: false if the serial is zero, too large or in use, or without memory.
 */
bool dep_serial_take(struct dep_collector *c, u32 serial);

/** dep_slots_count() - update c->nslots, without touching slots that were never used */
void dep_slots_count(struct dep_collector *c);

/** dep_table_seek() - next offset with memory (SEEK_DATA) or without (SEEK_HOLE); @end if none */
u64 dep_table_seek(struct dep_collector *c, u64 off, u64 end, int whence);

/** dep_punch() - free the memory of a range of the session file, which then reads as zero */
void dep_punch(struct dep_collector *c, u64 off, u64 len);

/* ---- domain.c ---- */

/** dep_domain() - slot @i's domain (group of isolated processes): 1 + founder's slot; 0: none */
u32 dep_domain(const struct dep_collector *c, u32 i);
/** dep_domains_tell() - copy session state to all groups of isolated processes; add up counters */
void dep_domains_tell(struct dep_collector *c);
/** dep_domain_process() - true if @serial is allowed for process slot @i in its domain */
bool dep_domain_process(const struct dep_collector *c, u32 i, u32 serial);
/** dep_domain_thread() - true if @serial is allowed for thread slot @slot of process slot @proc */
bool dep_domain_thread(const struct dep_collector *c, u32 slot, u32 proc, u32 serial);
/**
 * dep_domain_describes() - true if process slot @i is allowed to write descriptor @desc
 * @at: position of the descriptor in all descriptors that the slot has written
 * @desc: the whole descriptor
 */
bool dep_domain_describes(const struct dep_collector *c, u32 i, u64 at, const void *desc);

/* ---- threads.c ---- */

/** dep_threads_snapshot() - list the thread slots in use, and read how many chunks each has */
void dep_threads_snapshot(struct dep_collector *c);
/** dep_threads_consume() - take the chunks found by dep_threads_snapshot(); true: did something */
bool dep_threads_consume(struct dep_collector *c);
/**
 * dep_threads_end_slot() - end all threads of the dead process in slot @proc
 *
 * Return: false if a thread could not be ended yet: call again.
 */
bool dep_threads_end_slot(struct dep_collector *c, u32 proc);
/**
 * dep_threads_left_alive() - true if a vfork child of the dead process in slot @proc lives
 *
 * The child writes to its parent's ring until it calls execve or ends.
 */
bool dep_threads_left_alive(struct dep_collector *c, u32 proc);
/**
 * dep_threads_leave() - take all records of living threads at the end of the recording
 *
 * The threads keep their slots. Return: false if some records could not be taken: call again.
 */
bool dep_threads_leave(struct dep_collector *c);
/** dep_threads_fill() - set the fields of a job that begins or ends a thread */
void dep_threads_fill(struct dep_collector *c, u32 slot, struct dep_job *job);
/**
 * dep_threads_save() - queue jobs for a snapshot: what living threads have written so far
 * @loss: receives the losses that the threads have counted so far
 *
 * Return: 0; -EAGAIN: no job was queued since descriptors must be taken first; -ENOMEM.
 */
int dep_threads_save(struct dep_collector *c, struct dep_loss *loss);
/**
 * dep_threads_copy() - copy the unfinished chunk of a thread to a job
 * @job: receives NULL if the chunk has no records
 *
 * Return: 0; -ENOMEM; -EAGAIN: the thread began the chunk again and again (--on-full=drop).
 */
int dep_threads_copy(struct dep_collector *c, u32 slot, enum dep_job_kind kind,
		     struct dep_job **job);
/** dep_threads_give_up() - close the threads that dep_threads_leave() could not close, as loss */
void dep_threads_give_up(struct dep_collector *c);
/** dep_threads_release() - wake all threads that wait for a chunk */
void dep_threads_release(struct dep_collector *c);

/* ---- threads_trim.c ---- */

/** dep_trim_look() - call it before dep_threads_snapshot(): is a trim of the window wanted? */
void dep_trim_look(struct dep_collector *c);
/** dep_trim_step() - call it when descriptors and chunks were taken: go on with a trim */
void dep_trim_step(struct dep_collector *c);

/* ---- module_chunks.c: rings of the kernel module ---- */

/** dep_module_chunks_collect() - fetch filled chunks; call it before dep_procs_drain() */
void dep_module_chunks_collect(struct dep_collector *c);
/** dep_module_chunks_take() - queue chunks of a slot, and return stored chunks to the module */
void dep_module_chunks_take(struct dep_collector *c, u32 slot, bool *did);
/**
 * dep_module_chunks_finish() - take the remaining chunks of a thread
 * @living: the thread continues; otherwise it or its process has ended
 *
 * Return: false if some chunks could not be taken yet: call again.
 */
bool dep_module_chunks_finish(struct dep_collector *c, u32 slot, bool living);
/** dep_module_chunks_tally() - copy the final counters of the ring to the thread's slot */
void dep_module_chunks_tally(struct dep_collector *c, u32 slot);
/** dep_module_chunks_free() - free the ring for another thread */
void dep_module_chunks_free(struct dep_collector *c, u32 slot);

/* ---- processes.c ---- */

/** dep_procs_poll() - find processes that have ended; call it before dep_threads_snapshot() */
void dep_procs_poll(struct dep_collector *c);
/**
 * dep_procs_drain() - register new processes and empty all descriptor rings
 *
 * Return: 0 if the queue had no room for some descriptors: then no chunk may be taken.
 */
int dep_procs_drain(struct dep_collector *c, bool *did);
/** dep_procs_end_slot() - end the processes that dep_procs_poll() has found to be dead */
bool dep_procs_end_slot(struct dep_collector *c);
/**
 * dep_find_exe() - get the path of @pid's executable, allocated; "" if it is not known
 * @cause: enum adept_cause, as the process claims
 * @parent: serial of the parent process
 */
char *dep_find_exe(struct dep_collector *c, u32 pid, u32 cause, u32 parent);
/** dep_proc_replaced() - true if execve has replaced the image in slot @i by a recorded image */
bool dep_proc_replaced(struct dep_collector *c, u32 i);
void dep_procs_release(struct dep_collector *c);
void dep_procs_close(struct dep_collector *c);

/* ---- pidns.c: processes in other pid namespaces ---- */

/**
 * dep_pidns_process() - find the process of slot @i, which is in another pid namespace
 *
 * Return: its pid in the collector's namespace, or 0 if no process was found that maps the session
 * and uses this slot.
 */
u32 dep_pidns_process(struct dep_collector *c, u32 i);
/** dep_pidns_exec_tid() - translate exec_tid of slot @i to the collector's pid namespace */
void dep_pidns_exec_tid(struct dep_collector *c, u32 i);

/* ---- adopt.c ---- */

/** dep_adopt_skip() - size of the descriptors at the beginning of @data that are stored already */
size_t dep_adopt_skip(struct proc_slot *p, const u8 *data, size_t size);

/* ---- process_image.c ---- */

/** dep_image_alive() - true if process @pid maps the session file, or may map it */
bool dep_image_alive(struct dep_collector *c, u32 pid);
/**
 * dep_image_of_other() - true if thread @tid is in another process than @pid that maps the session
 * @tgid: receives the pid of the thread's process
 */
bool dep_image_of_other(struct dep_collector *c, u32 tid, u32 pid, u32 *tgid);
/** dep_exec_step() - answer a request for execve by slot @i, or follow its progress */
void dep_exec_step(struct dep_collector *c, u32 i);

#endif
