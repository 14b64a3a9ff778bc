/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Session file: memory shared by the recorded processes of a session and their collector.
 *
 *	 0            +----------------------+
 *	              | struct adept_session |  one page
 *	 retired_off  | struct adept_retired[] , struct adept_retired_thread[]: reserved slots
 *	 proc_off     | struct adept_proc[]  |  process slots, a page each
 *	 thread_off   | struct adept_thread[]|  thread slots, a page each
 *	 desc_off     | descriptor rings     |  nprocs * desc_size
 *	 ring_off     | rings                |  nthreads * nchunks * chunk_stride
 *	              +----------------------+
 *
 * The file is a sparse memfd.  Every recorded process maps all of it at the same address, and fork
 * inherits the mapping.  Only the parts in use are accessible; the rest is PROT_NONE.  A chunk
 * takes chunk_size + ADEPT_GUARD_SIZE bytes of the file; the guard after it is never accessible.
 *
 * With ADEPT_S_MODULE the rings are memory of adept.ko, mapped at the same addresses.  The module
 * ends a chunk when a store meets the guard, and moves the unfinished record to the next chunk.
 * The engine ends a chunk itself by a store at ADEPT_CHUNK_END_AT.  With ADEPT_S_MODULE, only tail,
 * tail_at and fill of struct adept_chunk are used, and only for chunks that the engine ended.
 *
 * The collector does not trust recorded processes: it copies what it reads, checks every index and
 * length, and gives up a slot with inconsistent content.  Recorded processes do not trust each
 * other either, since some may have fewer rights: each computes addresses from its own struct
 * adept_boot only.
 *
 * A process that gives up rights isolates itself (record/isolate.c).  It keeps its own slot, the
 * slots and rings of its threads, and some slots for future threads and processes; together these
 * form a domain.  No process outside the domain ever gets these slots, because processes of the
 * domain may still have them mapped.
 */
#ifndef ADEPT_ABI_SESSION_FILE_H
#define ADEPT_ABI_SESSION_FILE_H

#include "dep/session.h"
#include "types.h"

#define ADEPT_SESSION_MAGIC	0x4e53545045444100ull	/* "\0ADEPTSN" */
#define ADEPT_SESSION_VERSION	8
/* Name of the session file's memfd; /proc/PID/maps shows it as "/memfd:NAME (deleted)". */
#define ADEPT_SESSION_NAME	"adept-session"

#define ADEPT_PAGE		4096u
#define ADEPT_GUARD_SIZE	65536u
/*
 * Maximum size of a record in bytes.  Less than ADEPT_CHUNK_END_AT, so that the kernel module never
 * mistakes the store of a value for the store that ends a chunk.
 */
#define ADEPT_MAX_RECORD	3584u
#define ADEPT_MAX_CHUNKS	16u
/* size of a thread's name in bytes, as TASK_COMM_LEN of the kernel */
#define ADEPT_THREAD_NAME	16u
#define ADEPT_MAX_PROCS		1024u
#define ADEPT_MAX_THREADS	4096u
#define ADEPT_DESC_SIZE		(1u << 20)

/*
 * Numbers of process slots, thread slots, exit ids and serials that a process reserves for its
 * domain, itself and its descendants, when it isolates itself (record/isolate.c).
 */
#define ADEPT_ISOLATED_PROCS	32u	/* reserved only if the process enters a user namespace */
#define ADEPT_ISOLATED_THREADS	64u
#define ADEPT_ISOLATED_EXITS	(1u << 17)
#define ADEPT_ISOLATED_SERIALS	4096u

/* struct adept_boot.domain of a process that cannot use any part of the session */
#define ADEPT_NO_DOMAIN		(~0u)

/* First exit id of a fragment without a descriptor, built when its domain has no exit ids left. */
#define ADEPT_NO_EXITS		0xf0000000u

/*
 * To end a chunk in a ring of the kernel module, the engine stores to this offset from the record
 * pointer (r15).
 */
#define ADEPT_CHUNK_END_AT	3800u

/* In a ring, ids below this are event ids, and ids from this on are exit ids (stream.h). */
#define ADEPT_FIRST_EXIT	4096u
/* A process takes exit ids from the session in batches of this many. */
#define ADEPT_EXIT_BATCH	1024u

/* Areas of the engine's log.  The flag ADEPT_S_LOG(area) in adept_session.flags enables an area. */
enum adept_log_area {
	ADEPT_LOG_TRANSLATE,
	ADEPT_LOG_SIGNAL,
	ADEPT_LOG_THREAD,
	ADEPT_LOG_EXEC,
	ADEPT_LOG_MEMORY,
	ADEPT_LOG_AREAS
};

#define ADEPT_S_LOG(area)	(0x10000u << (area))
#define ADEPT_S_LOG_ALL		(ADEPT_S_LOG(ADEPT_LOG_AREAS) - ADEPT_S_LOG(0))

/* Name of @area, as written in the variable DEP_LOG; NULL if there is no such area. */
static inline const char *adept_log_area_name(u32 area)
{
	switch (area) {
	case ADEPT_LOG_TRANSLATE:
		return "translate";
	case ADEPT_LOG_SIGNAL:
		return "signal";
	case ADEPT_LOG_THREAD:
		return "thread";
	case ADEPT_LOG_EXEC:
		return "exec";
	case ADEPT_LOG_MEMORY:
		return "memory";
	}
	return (const char *)0;
}

#define ADEPT_TRIGGERS		8u
#define ADEPT_TRIGGER_GLOB	56u
#define ADEPT_TRIGGER_PLACES	32u

/**
 * struct adept_triggers - functions whose calls ask the collector for a snapshot
 *
 * @of:		@glob has * and ?; a function in the dynamic symbols of any file, of which a name
 *		matches, is watched. Empty: no trigger. @slow_ns: 0: each call is reported; else
 *		those that take at least this long, when they return
 * @dev, @inode: file with further functions, numbered as in struct adept_desc_map
 * @place:	@nplaces functions of that file: their offset in it, and the number of the trigger
 */
struct adept_triggers {
	struct {
		u64 slow_ns;
		char glob[ADEPT_TRIGGER_GLOB];
	} of[ADEPT_TRIGGERS];
	u64 dev, inode;
	u32 nplaces, pad;
	struct {
		u64 offset;
		u32 number, pad;
	} place[ADEPT_TRIGGER_PLACES];
};

/*
 * struct adept_thread.trigger: set by the thread, cleared by the collector.  0: nothing; else 1 +
 * the number of the trigger, and in the bits from 8 on how long the call took, in microseconds.
 */
#define ADEPT_TRIGGER_BITS	8u

/**
 * struct adept_session - first page of the session file
 *
 * The collector writes it before the first process is injected, except where a field says
 * otherwise.  Each user of the session copies the constant fields when it opens the session, and
 * never reads them from the page again.
 */
struct adept_session {
	u64 magic;
	u32 version;
	u32 flags;		/* ADEPT_S_*, set by the collector before it injects a process */
	u32 chunk_size;		/* bytes of a chunk without its guard, multiple of a page */
	u32 nchunks;		/* chunks per thread, 2 to ADEPT_MAX_CHUNKS */
	u32 nprocs;
	u32 nthreads;
	u32 desc_size;		/* bytes of a descriptor ring, power of two */
	u32 collector_pid;
	u64 proc_off;
	u64 thread_off;
	u64 desc_off;
	u64 ring_off;
	u64 file_size;
	/*
	 * Nanoseconds.  Recorded processes treat the collector as gone if heartbeat_ns is older
	 * than this, or if both owners of the robust futexes below have died.  0: they treat it as
	 * gone as soon as the collector's process has died.
	 */
	u64 give_up_ns;
	/* CLOCK_MONOTONIC time at which the collector last began to read the rings */
	u64 heartbeat_ns;
	/* offset of the reserved slots: adept_retired[nprocs], adept_retired_thread[nthreads] */
	u64 retired_off;
	/* 1: write ADEPT_DESC_REMOVED and ADEPT_DESC_FORKED, for a window */
	u32 tell_removed;
	u32 chaos_seed;		/* of the modes ADEPT_S_CHAOS_*, not 0 */

	/* The fields below are changed atomically while the session runs. */
	u32 wakeup;		/* futex; incremented when the collector has something to do */
	u32 collector_waits;	/* 1: the collector sleeps on the futex wakeup */
	/* next unused exit id; a process adds ADEPT_EXIT_BATCH to take a batch */
	u32 next_exit;
	/* 1: stop recording (--max-size, disk full); set by the collector */
	u32 stop;
	u32 lost_threads;	/* threads that ran unrecorded because no slot was free */
	/* process images not recorded: no free slot, or execve not followed */
	u32 lost_procs;
	u32 next_serial;	/* next serial number of a process or thread, from 1 */
	/* 1: the collector will not return; processes discard their records */
	u32 abandoned;
	u32 native_images;	/* images that run natively by design; see adept_native_add() */
	/* execve calls that the tracer is following; counted as lost if the tracer dies */
	u32 following;
	/*
	 * Robust futexes (inject/owner.h) owned by the collector and by the fd store holder, a
	 * process that holds the session file for the next collector; 0: unknown.  When the owner
	 * dies, the kernel sets FUTEX_OWNER_DIED, which is visible in any pid namespace.
	 */
	u32 collector;
	u32 holder;
	/* the part of native_images that have privileges which the session lacks */
	u32 native_privileged;
	/* process slots from this index on were never claimed; only grows */
	u32 procs_used;
	/* descriptors lost: no collector, or no exit ids left in the domain */
	u32 lost_descriptors;
	u32 unwanted_children;	/* children not recorded because of ADEPT_S_NO_CHILDREN */
	u32 unused;
	/* constant, as the fields up to @chaos_seed */
	struct adept_triggers triggers;
};

#define ADEPT_OWNER_DIED	0x40000000u	/* FUTEX_OWNER_DIED */

/* Whether the owner of robust futex @word has died. */
static inline int adept_owner_died(const u32 *word)
{
	return !!(__atomic_load_n(word, __ATOMIC_RELAXED) & ADEPT_OWNER_DIED);
}

/* Whether the collector and the fd store holder have both died; used only if give_up_ns is set. */
static inline int adept_session_lost(const struct adept_session *s)
{
	return adept_owner_died(&s->collector) && adept_owner_died(&s->holder);
}

/* Which ids of a process are numbers in a pid namespace other than the collector's. */
/* the tids of the process's threads, and adept_proc.exec_tid */
#define ADEPT_NS_TIDS		0x01u
/* adept_proc.pid, until the collector has translated it to its namespace */
#define ADEPT_NS_PID		0x02u
#define ADEPT_NS_CHILDREN	0x04u	/* only in adept_boot.ns: the ids of future children */

/*
 * State of a process or thread slot.  A process slot goes from FREE to CLAIMED to LIVE when a
 * process starts to use it.  The collector sets ENDED after the process has ended, and FREE when
 * all that the process recorded is stored.
 */
enum adept_slot_state {
	ADEPT_SLOT_FREE,
	ADEPT_SLOT_CLAIMED,	/* the owner is filling in the slot's fields */
	ADEPT_SLOT_LIVE,
	/*
	 * Thread slot: the thread's last chunk is published.  Process slot: the collector has
	 * noticed that the process ended and will soon free the slot, so a process that needs a
	 * slot can wait.
	 */
	ADEPT_SLOT_ENDED,
};

/*
 * struct adept_proc.exec_state: handshake between a process that calls execve (os/exec.c) and the
 * collector (inject/).
 *
 * Only the process changes the state from NONE; only the collector changes it from REQUEST and
 * FAILED.  The collector changes READY when the tracer stops the thread after execve.  If the
 * thread was a vfork child, its parent may change READY before that: the parent continues as soon
 * as the child has left the shared memory.
 */
enum adept_exec_state {
	ADEPT_EXEC_NONE,
	ADEPT_EXEC_REQUEST,	/* set by the process: thread exec_tid is about to call execve */
	/* set by the collector: it traces exec_tid, which can call execve now */
	ADEPT_EXEC_READY,
	/* set by the collector: it will not follow; exec_tid can call execve */
	ADEPT_EXEC_NATIVE,
	/* set by the process: execve failed; the collector detaches and sets NONE */
	ADEPT_EXEC_FAILED,
};

/*
 * struct adept_proc.leave: handshake of a detach (attach/detach.c, engine/os/leave.c)
 *
 *	tracer				process
 *	NONE -> ASKED			each thread waits at a safe point, or is in a system call
 *	ASKED -> COMMIT			COMMIT -> COMMITTING: a waiting thread ends the recording
 *					COMMITTING -> LEAVING, or -> BUSY if it cannot
 *	(LEAVING) moves each thread
 *	out of the engine when it waits
 *	LEAVING -> LAST			the last thread unmaps all but the engine's image
 *	LAST -> LEFT			(the tracer unmaps that); the collector frees the slot
 *	ASKED or BUSY -> NONE		the threads go on in the engine
 *
 * If the tracer dies, the threads themselves go on in the engine or leave it.
 *
 * With adept_proc.pausing the engine stays in the process's memory (attach/resume.c):
 *
 *	LEAVING -> PAUSED		(all threads run natively)
 *	PAUSED -> RESUMING
 *	(RESUMING) starts the engine	RESUMING -> NONE: it is ready for the threads
 *	again, moves the threads
 *
 * If the tracer of a resume dies before NONE, the process is still paused.
 */
enum adept_leave {
	ADEPT_LEAVE_NONE,
	ADEPT_LEAVE_ASKED,
	ADEPT_LEAVE_COMMIT,
	ADEPT_LEAVE_COMMITTING,
	ADEPT_LEAVE_BUSY,
	ADEPT_LEAVE_LEAVING,
	ADEPT_LEAVE_LAST,
	ADEPT_LEAVE_LEFT,
	ADEPT_LEAVE_PAUSED,
	ADEPT_LEAVE_RESUMING,
};

/** struct adept_proc - one recorded process image (an execve makes a new one) */
struct adept_proc {
	u32 state;		/* enum adept_slot_state */
	u32 serial;		/* unique in the session */
	u32 pid;
	/* serial of the recorded image that forked or executed this one; 0: none */
	u32 parent_serial;
	u32 exec_state;		/* futex; enum adept_exec_state */
	/* thread that calls execve; for a vfork child, not a thread of process pid */
	u32 exec_tid;
	u32 cause;		/* enum adept_cause: launch, fork, execve or attach */
	u32 leave;		/* enum adept_leave */
	u64 start_ns;		/* CLOCK_MONOTONIC */
	u64 desc_head;		/* total bytes written to the descriptor ring; set by the process */
	/* total bytes read from the descriptor ring; set by the collector */
	u64 desc_tail;
	/* futex; incremented by the collector when it has read descriptors */
	u32 desc_space;
	u32 desc_waits;		/* 1: a thread sleeps on desc_space */
	/* with ADEPT_EXEC_REQUEST: address of the path argument of execve or execveat */
	u64 exec_path;
	s32 exec_dirfd;		/* with ADEPT_EXEC_REQUEST: directory argument of execveat */
	u32 exec_flags;
	u64 built;		/* number of fragments built; set by the process */
	u64 translate_tsc;	/* TSC ticks spent in the dispatcher; set by the process */
	/*
	 * Lets a restarted collector continue: the store had @stored bytes of the process's
	 * descriptors when desc_tail was @tail.  The entry whose @tail equals desc_tail is valid;
	 * the collector writes the other entry before it changes desc_tail.
	 */
	struct adept_desc_mark {
		u64 tail, stored;
	} mark[2];
	/* ADEPT_NS_*, set together with pid; the collector clears ADEPT_NS_PID */
	u32 ns;
	u32 exec_native;	/* enum adept_native: why the current execve is not followed */
	u64 self;		/* address of the process's struct adept_boot */
	u32 leavers;		/* futex: number of threads that have begun to wait for a detach */
	/* robust futex owned by the tracer that detaches, pauses or resumes */
	u32 leave_tracer;
	u32 pausing;		/* 1: the engine stays; set by the tracer before ASKED */
	u32 reserved;
	/*
	 * Used only in the slot of a domain's founder, the process that isolated itself.  Processes
	 * of the domain use this instead of the session's first page: the collector writes stop,
	 * abandoned and heartbeat_ns here as well, and adds the counters here to the session's.
	 */
	struct adept_session own;
} __attribute__((aligned(ADEPT_PAGE)));

/*
 * Position in the code where a chunk begins or ends.  If frag is 0, the position is a record
 * boundary.  Otherwise it is before instruction insn of the fragment whose first exit id is frag,
 * and nvals values of the record are already stored.
 *
 * extra is a value that is stored after an instruction.  This is instruction insn - 1, which is
 * complete; or it is insn, a string instruction of which some iterations are done.  In the second
 * case the thread left the fragment, and the next chunk begins at a record boundary.
 */
struct adept_position {
	u32 frag;
	u16 insn;
	u16 nvals;
	u32 has_extra;		/* 1: extra is the value of store number nvals of the fragment */
	u32 pad;
	u64 extra;
};

/**
 * struct adept_chunk - header of one published chunk
 *
 * The body is a sequence of records from offset 0 on.  If head.frag is set, the first record began
 * in the previous chunk: its id field and the head.nvals values already stored were copied to this
 * chunk.  Recovery starts this record at head.insn, with all of regs[] known.  The instructions of
 * the record before head.insn belong to the previous chunk, whose tail is the same position and
 * whose body ends with the values stored so far.
 */
struct adept_chunk {
	/* number of the chunk in its thread, from 0; a gap means lost chunks */
	u64 seq;
	u32 fill;		/* bytes of the body, including an unfinished record */
	u32 tail_at;		/* offset of the unfinished record; == fill if there is none */
	struct adept_position head;
	struct adept_position tail;
	u64 dropped_chunks;	/* chunks that the thread has dropped so far (with ADEPT_S_DROP) */
	u64 dropped_bytes;
	u64 start_ns;		/* CLOCK_MONOTONIC time when the chunk was begun */
	u64 timestamp;		/* TSC timestamp when the chunk was begun (stream.h) */
	u64 fs_base, gs_base;	/* the application's segment bases when the chunk was begun */
	u64 regs[16];		/* application registers at head, hardware order */
};

/**
 * struct adept_call - the system call that a thread is in
 *
 * The thread sets this when all its records before the call are in the ring, and clears it before
 * it writes another record.  If a reader finds the same @before before and after it copies the
 * thread's chunk, the copy has all records up to the call.
 */
struct adept_call {
	/* timestamp taken before the call; 0: in no call, or not reported */
	u64 before;
	u64 nr;
	u64 args[6];
};

/**
 * struct adept_thread - thread slot: the ring of one thread
 *
 * head counts chunks published, tail counts chunks returned; both only grow.  Chunk c is stored at
 * index c % nchunks.  The thread fills chunk head; chunks tail to head - 1 belong to the collector.
 *
 * The collector zeroes a chunk's body before it returns the chunk (tail + 1).  So the last chunk of
 * a killed thread is valid up to the first zero id.  If at_safepoint is 1, no record of the thread
 * is missing after that id; otherwise at most one record is missing.
 */
struct adept_thread {
	u32 state;		/* enum adept_slot_state */
	u32 serial;		/* unique in the session */
	u32 tid;
	u32 proc;		/* index of the thread's process slot */
	u32 proc_serial;
	/* serial of the thread that created this one; 0: none, or an unrecorded thread */
	u32 parent_serial;
	u32 head;		/* chunks published; set by the thread */
	u32 tail;		/* futex: chunks returned; set by the collector */
	u32 tail_waits;		/* 1: the thread sleeps on the futex tail */
	/* 1: the collector must not store chunk head (dry run, recording stopped) */
	u32 discarding;
	/* bytes written that were counted but not stored (dry run, recording stopped) */
	u64 null_bytes;
	u64 flushes;
	u64 start_ns;
	u32 at_safepoint;	/* 1: the thread's stream ends at a record boundary */
	u32 left;		/* 1: the thread has left the engine and runs natively */
	/* chunks overwritten because the collector was gone for give_up_ns */
	u64 absent_chunks;
	u64 absent_bytes;
	struct adept_call call;
	char name[ADEPT_THREAD_NAME];	/* name as returned by PR_GET_NAME; set by the thread */
	/* word that the kernel clears when the thread ends; 0: none, or not known */
	u64 tid_address;
	u64 trigger;		/* ADEPT_TRIGGER_BITS */
	/*
	 * innermost call under way of a function of a trigger, as @trigger, but with the time of
	 * CLOCK_MONOTONIC at which it began, in microseconds; 0: none
	 */
	u64 calling;
	struct adept_chunk chunk[ADEPT_MAX_CHUNKS];
} __attribute__((aligned(ADEPT_PAGE)));

/*
 * Why a process image runs natively, and which counters of struct adept_session count it.  The
 * counters are in the session file because a collector's private counters are lost if it is killed.
 */
enum adept_native {
	ADEPT_NATIVE_BY_DESIGN,		/* counted in native_images; for example 32-bit code */
	ADEPT_NATIVE_PRIVILEGED,	/* counted in native_images and native_privileged */
	ADEPT_NATIVE_LOST,		/* counted in lost_procs: it should have been recorded */
};

static inline void adept_native_add(struct adept_session *s, enum adept_native kind)
{
	__atomic_fetch_add(kind == ADEPT_NATIVE_LOST ? &s->lost_procs : &s->native_images, 1,
			   __ATOMIC_RELAXED);
	if (kind == ADEPT_NATIVE_PRIVILEGED)
		__atomic_fetch_add(&s->native_privileged, 1, __ATOMIC_RELAXED);
}

/* Decrement @count, but not below 0: recorded processes can write any value to it. */
static inline void adept_count_down(u32 *count)
{
	u32 n = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (n && !__atomic_compare_exchange_n(count, &n, n - 1, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
		;
}

/* Undo adept_native_add() after the execve has failed. */
static inline void adept_native_sub(struct adept_session *s, enum adept_native kind)
{
	adept_count_down(kind == ADEPT_NATIVE_LOST ? &s->lost_procs : &s->native_images);
	if (kind == ADEPT_NATIVE_PRIVILEGED)
		adept_count_down(&s->native_privileged);
}

/* The tracer has died: count the execves that it was following as lost. */
static inline void adept_following_lost(struct adept_session *s)
{
	u32 n = __atomic_exchange_n(&s->following, 0, __ATOMIC_RELAXED);

	__atomic_fetch_add(&s->lost_procs, n, __ATOMIC_RELAXED);
}

/**
 * struct adept_retired - domain (group of isolated processes) that a process slot is reserved for
 *
 * Written by the domain's founder before it isolates itself.
 */
struct adept_retired {
	u32 domain;		/* 1 + slot of the domain's founder; 0: not reserved */
	/* serial of the process in the slot (the founder); 0: the slot was free */
	u32 serial;
	/* adept_proc.desc_head then; later descriptors have exit ids of the domain */
	u64 desc_head;
	/*
	 * Used only in the entry of a domain's founder: numbers for future processes, threads and
	 * fragments.
	 */
	u32 serials;		/* first of the ADEPT_ISOLATED_SERIALS serials of the domain */
	u32 exits;		/* first of the ADEPT_ISOLATED_EXITS exit ids of the domain */
};

/** struct adept_retired_thread - domain that a thread slot is reserved for; see adept_retired */
struct adept_retired_thread {
	u32 domain;		/* 1 + slot of the domain's founder; 0: not reserved */
	/* serial of the thread that had the slot when it was reserved; 0: the slot was free */
	u32 serial;
};

static inline u64 adept_retired_size(u32 nprocs, u32 nthreads)
{
	return (u64)nprocs * sizeof(struct adept_retired) +
	       (u64)nthreads * sizeof(struct adept_retired_thread);
}

static inline struct adept_retired *adept_retired_proc(void *file,
						       const struct adept_session *layout, u32 slot)
{
	return (struct adept_retired *)((char *)file + layout->retired_off) + slot;
}

static inline struct adept_retired_thread *adept_retired_thread(void *file,
							   const struct adept_session *layout,
							   u32 slot)
{
	return (struct adept_retired_thread *)adept_retired_proc(file, layout, layout->nprocs) +
	       slot;
}

/*
 * Claim process slot @i at @p if it is free and reserved for @domain (0: not reserved).
 *
 * The table of reserved slots decides: processes of a domain can write the states of its slots, but
 * not this table.
 *
 * Return: 1 if the slot was claimed.
 */
static inline int adept_claim_proc(struct adept_session *file, const struct adept_session *layout,
				   struct adept_proc *p, u32 i, u32 domain)
{
	u32 *holder = &adept_retired_proc(file, layout, i)->domain, free = ADEPT_SLOT_FREE;
	u32 used = __atomic_load_n(&file->procs_used, __ATOMIC_RELAXED);

	if (__atomic_load_n(holder, __ATOMIC_SEQ_CST) != domain)
		return 0;
	/* Raise procs_used before claiming, so that the collector's scan includes the slot. */
	while (used <= i && !__atomic_compare_exchange_n(&file->procs_used, &used, i + 1, 0,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	if (!__atomic_compare_exchange_n(&p->state, &free, ADEPT_SLOT_CLAIMED, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	/* A process that isolates itself may meanwhile have reserved the slot for its domain. */
	if (__atomic_load_n(holder, __ATOMIC_SEQ_CST) != domain) {
		__atomic_store_n(&p->state, ADEPT_SLOT_FREE, __ATOMIC_SEQ_CST);
		return 0;
	}
	return 1;
}

static inline u64 adept_chunk_stride(const struct adept_session *s)
{
	return (u64)s->chunk_size + ADEPT_GUARD_SIZE;
}

/* Offset in the session file of chunk index @i of thread slot @slot. */
static inline u64 adept_chunk_off(const struct adept_session *s, u32 slot, u32 i)
{
	return s->ring_off + ((u64)slot * s->nchunks + i) * adept_chunk_stride(s);
}

#endif
