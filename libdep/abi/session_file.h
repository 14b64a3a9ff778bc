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
 * takes chunk_size + ADEPT_GUARD_SIZE bytes of the file; the guard behind it is never accessible.
 *
 * With ADEPT_S_MODULE the rings are memory of adept.ko, mapped at the same addresses.  The module
 * ends a chunk when a store meets the guard, and moves the unfinished record to the next chunk.
 * The engine ends a chunk itself by a store at ADEPT_CHUNK_END_AT.  Of struct adept_chunk only
 * tail, tail_at and fill are used then, for chunks that the engine ended.
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
#define ADEPT_SESSION_VERSION	5
/* Name of the memfd, as "/memfd:NAME (deleted)" in /proc/PID/maps. */
#define ADEPT_SESSION_NAME	"adept-session"

#define ADEPT_PAGE		4096u
#define ADEPT_GUARD_SIZE	65536u
/*
 * Bytes.  Less than ADEPT_CHUNK_END_AT, so that no store of a record is taken for the end of a
 * chunk.
 */
#define ADEPT_MAX_RECORD	3584u
#define ADEPT_MAX_CHUNKS	16u
#define ADEPT_THREAD_NAME	16u	/* bytes, as TASK_COMM_LEN of the kernel */
#define ADEPT_MAX_PROCS		1024u
#define ADEPT_MAX_THREADS	4096u
#define ADEPT_DESC_SIZE		(1u << 20)

/* Slots and numbers that a process reserves for its domain when it isolates itself. */
#define ADEPT_ISOLATED_PROCS	32u	/* only if it enters a user namespace */
#define ADEPT_ISOLATED_THREADS	64u
#define ADEPT_ISOLATED_EXITS	(1u << 17)
#define ADEPT_ISOLATED_SERIALS	4096u

/* struct adept_boot.domain of a process that cannot use any part of the session */
#define ADEPT_NO_DOMAIN		(~0u)

/* First exit id of fragments without a descriptor; used when the process has no more ids. */
#define ADEPT_NO_EXITS		0xf0000000u

/* Offset from the record pointer (r15) at which the engine stores to end a module's chunk. */
#define ADEPT_CHUNK_END_AT	3800u

/* Exit ids below this are events (stream.h). */
#define ADEPT_FIRST_EXIT	4096u
/* A process takes exit ids from the session in batches of this many. */
#define ADEPT_EXIT_BATCH	1024u

/* Areas of the engine's log.  ADEPT_S_LOG(area) in adept_session.flags: log it. */
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

/* Name of @area, as in DEP_LOG; NULL: there is no such area. */
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
	u32 flags;		/* ADEPT_S_*, set by the collector before anything runs */
	u32 chunk_size;		/* bytes, multiple of a page */
	u32 nchunks;		/* per thread, 2..ADEPT_MAX_CHUNKS */
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
	 * When writers treat the collector as gone.  0: when its pid no longer exists.  Otherwise:
	 * when heartbeat_ns is older than this, or the collector and the fd store holder have died.
	 */
	u64 give_up_ns;
	u64 heartbeat_ns;	/* CLOCK_MONOTONIC, by the collector in each pass */
	u64 retired_off;	/* struct adept_retired[nprocs], adept_retired_thread[nthreads] */
	u64 reserved;

	/* Below: changed atomically while the session runs. */
	u32 wakeup;		/* futex: +1 whenever the collector has something to do */
	u32 collector_waits;	/* the collector sleeps on wakeup */
	u32 next_exit;		/* next unused exit id; +ADEPT_EXIT_BATCH by recorded processes */
	u32 stop;		/* by the collector: 1 = stop recording (--max-size, disk full) */
	u32 lost_threads;	/* threads that ran unrecorded because no slot was free */
	u32 lost_procs;		/* unrecorded images: no free slot, or execve was not followed */
	u32 next_serial;	/* serials of processes and threads, from 1 */
	u32 abandoned;		/* 1: the collector is gone for good; writers discard */
	u32 native_images;	/* images that run natively by design; see adept_native_add() */
	u32 following;		/* execves that a tracer is following; lost if it dies */
	/*
	 * Robust futexes (collect/owner.h) of the collector and of the fd store holder, which holds
	 * the session file for the next collector; 0: unknown.  When one of them dies, the kernel
	 * sets FUTEX_OWNER_DIED, which is visible in any pid namespace.
	 */
	u32 collector;
	u32 holder;
	u32 native_privileged;	/* of native_images: with privileges that the session lacks */
	u32 procs_used;		/* slots from this index on were never claimed; only grows */
	u32 lost_descriptors;	/* there was no collector, or the domain had no more exit ids */
};

#define ADEPT_OWNER_DIED	0x40000000u	/* FUTEX_OWNER_DIED */

/* Whether the owner of robust futex @word has died. */
static inline int adept_owner_died(const u32 *word)
{
	return !!(__atomic_load_n(word, __ATOMIC_RELAXED) & ADEPT_OWNER_DIED);
}

/* With give_up_ns: whether the collector and the fd store holder have both died. */
static inline int adept_session_lost(const struct adept_session *s)
{
	return adept_owner_died(&s->collector) && adept_owner_died(&s->holder);
}

/* Ids of a process that belong to another pid namespace than the collector's. */
#define ADEPT_NS_TIDS		0x01u	/* the tids of its threads, and exec_tid */
#define ADEPT_NS_PID		0x02u	/* adept_proc.pid, until the collector has translated it */
#define ADEPT_NS_CHILDREN	0x04u	/* adept_boot: the ids of its future children */

/*
 * State of a process or thread slot.  Of a process slot, the recorded side moves FREE -> CLAIMED ->
 * LIVE; the collector moves LIVE -> ENDED after the process has ended, and ENDED -> FREE when all
 * that it recorded is stored.
 */
enum adept_slot_state {
	ADEPT_SLOT_FREE,
	ADEPT_SLOT_CLAIMED,	/* being filled in */
	ADEPT_SLOT_LIVE,
	/*
	 * Thread: its last chunk is published.  Process: the collector has noticed its end and will
	 * free the slot, so a process that needs a slot can wait.
	 */
	ADEPT_SLOT_ENDED,
};

/*
 * struct adept_proc.exec_state: handshake around execve (os/exec.c, inject/).
 *
 * Only the process leaves NONE; only the collector leaves REQUEST and FAILED.  READY is left by the
 * collector at the stop after execve, or by the process, whichever comes first: the parent of a
 * vfork child continues as soon as the child has left its memory.
 */
enum adept_exec_state {
	ADEPT_EXEC_NONE,
	ADEPT_EXEC_REQUEST,	/* process: thread exec_tid is about to call execve */
	ADEPT_EXEC_READY,	/* collector: traces exec_tid; it can call execve */
	ADEPT_EXEC_NATIVE,	/* collector: will not follow; it can call execve */
	ADEPT_EXEC_FAILED,	/* process: execve failed; the collector detaches and sets NONE */
};

/** struct adept_proc - one recorded process image (an execve makes a new one) */
struct adept_proc {
	u32 state;		/* enum adept_slot_state */
	u32 serial;		/* unique in the session */
	u32 pid;
	u32 parent_serial;	/* of the image that forked or executed this one, 0 = the first */
	u32 exec_state;		/* futex; enum adept_exec_state */
	u32 exec_tid;		/* of a child that shares memory: no thread of process pid */
	u32 cause;		/* enum adept_cause */
	u32 reserved;
	u64 start_ns;		/* CLOCK_MONOTONIC */
	u64 desc_head;		/* bytes ever written to its descriptor ring; by the process */
	u64 desc_tail;		/* bytes ever consumed; by the collector */
	u32 desc_space;		/* futex: +1 by the collector whenever it has consumed */
	u32 desc_waits;		/* a thread sleeps on desc_space */
	u64 exec_path;		/* with REQUEST: address of the path that execve will get.. */
	s32 exec_dirfd;		/* ..and the other arguments of execveat */
	u32 exec_flags;
	u64 built;		/* fragments built; by the process */
	u64 translate_tsc;	/* TSC ticks spent in the dispatcher; by the process */
	/*
	 * By the collector, for its successor: the store had @stored bytes of the process's
	 * descriptors when desc_tail was @tail.  The entry whose @tail equals desc_tail is valid;
	 * the collector writes the other one before it changes desc_tail.
	 */
	struct adept_desc_mark {
		u64 tail, stored;
	} mark[2];
	u32 ns;			/* ADEPT_NS_*, set together with pid; the collector clears NS_PID */
	u32 exec_native;	/* enum adept_native: why the current execve is not followed */
	u64 self;		/* with NS_PID: address of the process's struct adept_boot */
	/*
	 * Only in the slot of a domain's founder.  The domain uses it instead of the session's
	 * first page: the collector writes stop, abandoned and heartbeat_ns here as well, and adds
	 * the counters here to the session's.
	 */
	struct adept_session own;
} __attribute__((aligned(ADEPT_PAGE)));

/*
 * Position in the code where a chunk begins or ends.  frag 0: at a record boundary.  Otherwise
 * within fragment frag (its first exit id), before instruction insn; nvals values of the record
 * are already stored.
 *
 * extra is the value of a store that comes after an instruction: after insn - 1, which is done; or
 * after insn, a string instruction of which some iterations are done.  In the second case the
 * thread left the fragment, and the next chunk begins at a record boundary.
 */
struct adept_position {
	u32 frag;
	u16 insn;
	u16 nvals;
	u32 has_extra;		/* extra is the value of store number nvals (see below) */
	u32 pad;
	u64 extra;
};

/**
 * struct adept_chunk - header of one published chunk
 *
 * The body is a sequence of records from offset 0 on.  If head.frag is set, the first record began
 * in the previous chunk: its id field and the head.nvals values already stored were copied to this
 * one.  Recovery starts it at head.insn, with all of regs[] known.  The instructions of the record
 * before head.insn belong to the previous chunk.  That one ends at the same position (tail), and
 * its body ends with the values stored so far.
 */
struct adept_chunk {
	u64 seq;		/* 0, 1, 2.. per thread; a gap is a loss */
	u32 fill;		/* bytes of body, the unfinished record included */
	u32 tail_at;		/* offset of the unfinished record; == fill if there is none */
	struct adept_position head;
	struct adept_position tail;
	u64 dropped_chunks;	/* of the thread so far, with ADEPT_S_DROP */
	u64 dropped_bytes;
	u64 start_ns;		/* CLOCK_MONOTONIC when it was begun */
	u64 timestamp;		/* of the same moment; see stream.h */
	u64 fs_base, gs_base;	/* of the application at that moment */
	u64 regs[16];		/* application registers at head, hardware order */
};

/**
 * struct adept_call - the system call that a thread is in
 *
 * The thread sets it when everything before the call is in the ring, and clears it before it
 * writes anything else.  A reader that finds the same @before before and after it copied the chunk
 * has a complete copy.
 */
struct adept_call {
	u64 before;		/* timestamp before the call; 0: in no call, or not reported */
	u64 nr;
	u64 args[6];
};

/**
 * struct adept_thread - thread slot: the ring of one thread
 *
 * head counts chunks published, tail counts chunks returned; both only grow.  Chunk c is stored at
 * index c % nchunks.  The thread fills chunk head; chunks tail to head - 1 belong to the collector.
 *
 * The collector zeroes a chunk's body before it returns it (tail + 1).  So the last chunk of a
 * killed thread is valid up to the first zero id.  If at_safepoint is 1, nothing is missing after
 * that; otherwise at most one record is.
 */
struct adept_thread {
	u32 state;		/* enum adept_slot_state */
	u32 serial;		/* unique in the session */
	u32 tid;
	u32 proc;		/* index of its struct adept_proc */
	u32 proc_serial;
	u32 parent_serial;	/* thread that created it, 0 = first of its process */
	u32 head;		/* by the thread */
	u32 tail;		/* futex, by the collector */
	u32 tail_waits;		/* the thread sleeps on tail */
	u32 discarding;		/* 1: chunk head must not be stored (dry run, stop) */
	u64 null_bytes;		/* bytes counted and discarded (dry run, after stop) */
	u64 flushes;
	u64 start_ns;
	u32 at_safepoint;	/* 1: the stream ends at a record boundary */
	u32 pad;
	u64 absent_chunks;	/* overwritten because the collector was gone for give_up_ns */
	u64 absent_bytes;
	struct adept_call call;
	char name[ADEPT_THREAD_NAME];	/* as PR_GET_NAME has it; by the thread */
	u64 reserved[2];
	struct adept_chunk chunk[ADEPT_MAX_CHUNKS];
} __attribute__((aligned(ADEPT_PAGE)));

/*
 * Why an image runs natively, and which counters count it.  They are in the session file because a
 * collector's private counters would be lost if it is killed.
 */
enum adept_native {
	ADEPT_NATIVE_BY_DESIGN,		/* native_images: 32-bit code, for example */
	ADEPT_NATIVE_PRIVILEGED,	/* native_images and native_privileged */
	ADEPT_NATIVE_LOST,		/* lost_procs: it should have been recorded */
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

/* Undo adept_native_add(): the execve failed. */
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
 * struct adept_retired - the domain that a process slot is reserved for
 *
 * Written by the domain's founder before it isolates itself.
 */
struct adept_retired {
	u32 domain;		/* 1 + the founder's slot; 0: none */
	u32 serial;		/* of the process in the slot (the founder), 0: free */
	u64 desc_head;		/* descriptors from this position on have exit ids of the domain */
	/* Only in the founder's entry: numbers for future processes, threads and fragments. */
	u32 serials;		/* first of ADEPT_ISOLATED_SERIALS */
	u32 exits;		/* first of ADEPT_ISOLATED_EXITS */
};

/** struct adept_retired_thread - the domain that a thread slot is reserved for */
struct adept_retired_thread {
	u32 domain;		/* as in struct adept_retired */
	u32 serial;		/* of the thread that had the slot then, 0: free */
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
 * Claim process slot @i at @p if it is free and reserved for @domain (0: for none).
 *
 * Processes of a domain can write the states of its slots, but not the table of reserved slots.
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
	/* First, so that the collector's scan includes the slot. */
	while (used <= i && !__atomic_compare_exchange_n(&file->procs_used, &used, i + 1, 0,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	if (!__atomic_compare_exchange_n(&p->state, &free, ADEPT_SLOT_CLAIMED, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	/* In between, a founder claimed the slot and freed it for its domain. */
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

/**
 * struct adept_attached - a thread of a running process that the engine is put into
 *
 * The injector writes @tid before the engine starts, and the rest before the thread continues at
 * adept_entries.thread.
 *
 * @regs:	application registers, hardware order
 * @mask:	its signal mask
 * @call:	the system call that the stop has interrupted, with a restart code of the kernel in
 *		rax; -1: it was not in a call
 * @tls:	written by the engine: value of rdi at adept_entries.thread
 */
struct adept_attached {
	u64 regs[16];
	u64 rip, rflags, fs_base, gs_base;
	u64 mask;
	s64 call;
	u64 tls;
	u32 tid, unused;
};

/**
 * struct adept_entries - offsets in the engine image, directly after struct adept_boot
 * @start:	its first instruction
 * @thread:	first instruction of each thread of a running process, after @ready
 * @ready, @failed: int3 instructions at which the first thread of a running process stops: the
 *		engine is ready for all threads, or has changed nothing
 */
struct adept_entries {
	u64 start, thread, ready, failed;
};

/**
 * struct adept_caught_pc - an instruction that the injector has replaced by int3
 *
 * A thread that is in a system call at the attach stops there when the call returns.
 */
struct adept_caught_pc {
	u64 pc;
	u64 byte;		/* what is there */
};
#define ADEPT_CAUGHT_PCS 32u

/**
 * struct adept_boot - parameters from the injector, at the start of the engine image
 *
 * At the image's entry rdi has the address of this structure.  rsp is the application's; the
 * engine must not use that stack.
 */
struct adept_boot {
	u64 session;		/* address of the session file's mapping */
	u64 image, image_size;
	/*
	 * Memory below 2 GiB for the branch tables, RW.  At first it contains text: lines of
	 * /proc/PID/maps from before the injection, for executable mappings, mappings of the first
	 * bytes of files, and the stack.  The rest is zero.
	 */
	u64 low, low_size;
	u64 heap, heap_size;	/* reserved for the engine's data, PROT_NONE at first */
	u64 arena[2], arena_size[2];	/* RWX code cache near the libraries and near the program */
	u32 proc;		/* slot of this process, LIVE already */
	u32 cause;		/* enum adept_cause */
	u64 regs[16];		/* initial application registers, hardware order */
	u64 rip, rflags, fs_base, gs_base;
	u64 vdso, vdso_size;
	u64 fsgsbase;		/* 1: the kernel preserves what wrgsbase writes (HWCAP2_FSGSBASE) */
	u32 ns;			/* ADEPT_NS_* */
	u32 domain;		/* 1 + its founder's slot; 0: none, the session is shared */
	u32 nattached;		/* attach to a running process: its threads, at... */
	u32 ptracer;		/* pid that children must allow to trace them (Yama), 0: none */
	u64 attached;		/* ...this address: struct adept_attached[nattached] */
	u64 attached_size;	/* of that mapping */
	u64 ncaught;
	struct adept_caught_pc caught[ADEPT_CAUGHT_PCS];
	/*
	 * Private copy of the session's first page.  All sizes and offsets are taken from here,
	 * because processes with fewer rights can write to the shared page.
	 */
	struct adept_session layout;
};

#endif
