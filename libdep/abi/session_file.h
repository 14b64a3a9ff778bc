/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The session file: memory shared by everything that is recorded together and by
 * the collector that consumes it (shared-memory transport).
 *
 *	 0            +----------------------+
 *	              | struct adept_session |  one page
 *	 retired_off     | struct adept_retired[]  |  slots that are never given to others:
 *	              | struct adept_retired_thread[]
 *	 proc_off     | struct adept_proc[]  |  a page each: who runs, where its descriptors are
 *	 thread_off   | struct adept_thread[]|  a page each: one ring per thread
 *	 desc_off     | descriptor rings     |  nprocs * desc_size
 *	 ring_off     | rings                |  nthreads * nchunks * chunk_stride
 *	              +----------------------+
 *
 * It is a sparse memfd, mapped whole at one address in every recorded process
 * (PROT_NONE but for what is in use) and inherited by fork.  A chunk takes
 * chunk_stride = chunk_size + ADEPT_GUARD_SIZE bytes of the file, of which the
 * guard is never made accessible.
 *
 * With ADEPT_S_MODULE the rings are memory of adept.ko, mapped in their place, with the
 * same strides.  The module ends a chunk when a store meets the guard, and carries what
 * there is of the record begun to the next one; of struct adept_chunk only tail, tail_at
 * and fill are used then, and only for a chunk that was ended by a store at
 * ADEPT_CHUNK_END_AT: by the engine itself, at that position.
 *
 * The recorded side is hostile to the collector: it copies what it reads, checks
 * every index and length, and stops consuming a slot that does not make sense.  So are recorded
 * processes to each other, since some may have given up rights: each computes addresses from
 * its own struct adept_boot only.
 *
 * A process that gives up rights isolates itself (record/isolate.c): of all this it keeps its own
 * slot, its threads' slots and rings, and some for threads and processes to come, which are a
 * domain.  They stay its own: who could still have them mapped is not known, so no process outside
 * of the domain gets them later.
 */
#ifndef ADEPT_ABI_SESSION_FILE_H
#define ADEPT_ABI_SESSION_FILE_H

#include "types.h"

#define ADEPT_SESSION_MAGIC	0x4e53545045444100ull	/* "\0ADEPTSN" */
#define ADEPT_SESSION_VERSION	5

#define ADEPT_PAGE		4096u
#define ADEPT_GUARD_SIZE	65536u
/* Bytes; so far below what the kernel module moves that nothing else comes so far. */
#define ADEPT_MAX_RECORD	3584u
#define ADEPT_MAX_CHUNKS	16u
#define ADEPT_MAX_PROCS		1024u
#define ADEPT_MAX_THREADS	4096u
#define ADEPT_DESC_SIZE		(1u << 20)

/* What a process that isolates itself takes of the session, for its domain. */
#define ADEPT_ISOLATED_PROCS	32u	/* of those in a user namespace: they create others */
#define ADEPT_ISOLATED_THREADS	64u
#define ADEPT_ISOLATED_EXITS	(1u << 17)
#define ADEPT_ISOLATED_SERIALS	4096u

/* struct adept_boot.domain of a process that has nothing of the session */
#define ADEPT_NO_DOMAIN		(~0u)

/* The first exit id of fragments that are not described, since the process has no more ids. */
#define ADEPT_NO_EXITS		0xf0000000u

/* Offset from the profile pointer at which the engine stores to end a chunk. */
#define ADEPT_CHUNK_END_AT		3800u

/* Exit ids below this are events (stream.h). */
#define ADEPT_FIRST_EXIT	4096u
/* A process takes exit ids from the session in batches of this many. */
#define ADEPT_EXIT_BATCH	1024u

/* struct adept_session.flags, set by the collector before anything runs */
#define ADEPT_S_NO_RECORD	0x01u	/* engine alone: no stores, no descriptors */
#define ADEPT_S_NULL		0x02u	/* record, count the bytes, keep nothing */
#define ADEPT_S_DROP		0x04u	/* full ring: drop a chunk and count it */
#define ADEPT_S_SELF_CHECK	0x08u	/* store all address registers as well */
#define ADEPT_S_STRICT		0x10u	/* no native call/ret pairing */
#define ADEPT_S_NO_FOLLOW	0x20u	/* execve'd images run natively */
#define ADEPT_S_MODULE		0x40u	/* the rings are adept.ko's, see below */
#define ADEPT_S_NO_FUNCTIONS	0x80u	/* calls of dep/functions.h's are not told */

/**
 * struct adept_session - first page of the session file
 *
 * Written by the collector before the first process is injected, except where a
 * field says otherwise.  A user of the session copies what does not change when it opens the
 * session, and never reads it from the page again.
 */
struct adept_session {
	u64 magic;
	u32 version;
	u32 flags;		/* ADEPT_S_* */
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
	 * 0: the collector is there as long as its pid; else until heartbeat_ns, CLOCK_MONOTONIC,
	 * by the collector, is so old, or the collector and the fd store holder have died.
	 */
	u64 give_up_ns;
	u64 heartbeat_ns;
	u64 retired_off;	/* struct adept_retired[nprocs], adept_retired_thread[nthreads] */
	u64 reserved;

	/* Below: changed while running, atomically. */
	u32 wakeup;		/* futex: +1 whenever the collector has something to do */
	u32 collector_waits;	/* the collector is asleep on wakeup */
	u32 next_exit;		/* next unused exit id; +ADEPT_EXIT_BATCH by recorded processes */
	u32 stop;		/* collector: 1 = record no more (--max-size reached, disk full) */
	u32 lost_threads;	/* threads that ran unrecorded since no slot was free */
	u32 lost_procs;		/* images unrecorded: no slot, or nobody to follow execve */
	u32 next_serial;	/* serials of processes and threads, from 1 */
	u32 abandoned;		/* 1: the collector is gone for good: writers discard */
	u32 native_images;	/* not followed by design (set-uid..); by who let them go, below */
	u32 following;		/* execves that a tracer has in hand: if it dies they are lost */
	/*
	 * Robust futexes (collect/owner.h) of the collector, and of the process that keeps the
	 * session file for the next collector; 0: unknown.  When one dies the kernel sets
	 * FUTEX_OWNER_DIED, which is seen from any pid namespace.
	 */
	u32 collector;
	u32 holder;
	u32 native_privileged;	/* of native_images: for privileges that the session has not */
	u32 procs_used;		/* no process slot from here on was ever claimed; only grows */
};

#define ADEPT_OWNER_DIED	0x40000000u	/* FUTEX_OWNER_DIED */

/* Has the process died that the robust futex @word names? */
static inline int adept_owner_died(const u32 *word)
{
	return !!(__atomic_load_n(word, __ATOMIC_RELAXED) & ADEPT_OWNER_DIED);
}

/* With give_up_ns: is nobody left who could collect, or hand the session file on? */
static inline int adept_session_lost(const struct adept_session *s)
{
	return adept_owner_died(&s->collector) && adept_owner_died(&s->holder);
}

/* Which numbers of a process are those of another pid namespace than the collector's. */
#define ADEPT_NS_TIDS		0x01u	/* its threads', and exec_tid */
#define ADEPT_NS_PID		0x02u	/* adept_proc.pid, until the collector has found its own */
#define ADEPT_NS_CHILDREN	0x04u	/* adept_boot: those of its future children */

/* struct adept_proc.state; the recorded side moves FREE -> CLAIMED -> LIVE, the
 * collector LIVE -> ENDED after the process is gone, and ENDED -> FREE when the store has all
 * that it recorded.
 */
enum adept_slot_state {
	ADEPT_SLOT_FREE,
	ADEPT_SLOT_CLAIMED,	/* being filled in */
	ADEPT_SLOT_LIVE,
	ADEPT_SLOT_ENDED,	/* threads: its last chunk is published; processes: it is gone, as
				 * the collector has seen, and the slot soon free: wait for that */
};

/*
 * struct adept_proc.exec_state: hand-shake around execve (os/exec.c, inject/).
 *
 * Only the process leaves NONE, and only the collector leaves REQUEST and FAILED.  READY
 * is ended by who comes first: the collector, at the stop after execve, or the process:
 * the parent of a vfork child runs on as soon as that child has left its memory.
 */
enum adept_exec_state {
	ADEPT_EXEC_NONE,
	ADEPT_EXEC_REQUEST,	/* process: thread exec_tid is about to call execve */
	ADEPT_EXEC_READY,	/* collector: tracing exec_tid, go on */
	ADEPT_EXEC_NATIVE,	/* collector: will not follow, go on */
	ADEPT_EXEC_FAILED,	/* process: execve returned; collector must let go, then NONE */
};

/** struct adept_proc - one recorded process image (an execve makes a new one) */
struct adept_proc {
	u32 state;		/* enum adept_slot_state */
	u32 serial;		/* unique in the session */
	u32 pid;
	u32 parent_serial;	/* of the image that forked or exec'd this one, 0 = the first */
	u32 exec_state;		/* futex; enum adept_exec_state */
	u32 exec_tid;
	u32 cause;		/* enum adept_cause */
	u32 undescribed;	/* descriptors lost since its collector had gone */
	u64 start_ns;		/* CLOCK_MONOTONIC */
	u64 desc_head;		/* bytes ever written to its descriptor ring; by the process */
	u64 desc_tail;		/* bytes ever consumed; by the collector */
	u32 desc_space;		/* futex: +1 by the collector whenever it consumed */
	u32 desc_waits;		/* somebody sleeps on desc_space */
	u64 exec_path;		/* with REQUEST: what is to be executed, as execveat has it */
	s32 exec_dirfd;
	u32 exec_flags;
	u64 built;		/* fragments */
	u64 translate_tsc;	/* ticks that the dispatcher took, both by the process */
	/*
	 * By the collector, for the next one: that the store had @stored bytes of the
	 * process's descriptors at desc_tail @tail.  The entry with the present desc_tail
	 * counts; the other one is written before desc_tail is.
	 */
	struct adept_desc_mark {
		u64 tail, stored;
	} mark[2];
	u32 ns;			/* ADEPT_NS_*: by who fills in pid; the collector clears NS_PID */
	/* enum adept_native, by who answers: of the execve under way if it is not followed */
	u32 exec_native;
	u64 self;		/* with NS_PID: address of the process's struct adept_boot */
	/*
	 * Of the founder of a domain: the domain has it in place of the session's first page.  The
	 * collector tells it stop, abandoned and heartbeat_ns there, and adds its counters to the
	 * session's.
	 */
	struct adept_session own;
} __attribute__((aligned(ADEPT_PAGE)));

/*
 * A child that shares memory with its parent (vfork, posix_spawn) has no slot: it is a
 * thread of its parent's, and exec_tid is then not one of process pid.  The image that
 * it executes gets a slot like any other, by ADEPT_BY_EXEC, with another pid than its
 * parent's, whose slot lives on.
 */
enum adept_cause { ADEPT_BY_LAUNCH, ADEPT_BY_FORK, ADEPT_BY_EXEC, ADEPT_BY_ATTACH };

/* Where in the code a chunk begins or ends: inside fragment frag (its first exit id),
 * before instruction insn, of whose stores the first nvals are already after.
 * frag 0: at a record boundary.
 *
 * The store of extra stands after instruction insn - 1, which is done; or after insn,
 * which is a string instruction of which some iterations are done (the thread then left
 * the fragment, and the next chunk begins at a record boundary).
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
 * struct adept_chunk - what is known of one published chunk
 *
 * The body is records back to back; the first begins at offset 0.  If head.frag is
 * set, the first record began in the chunk before (its id slot and the head.nvals
 * values already stored were copied over): recovery starts it at head.insn with
 * regs[] all known.  The same record's instructions before that belong to the
 * chunk before, which ends in the same position (tail), its values after the last
 * whole record.
 */
struct adept_chunk {
	u64 seq;		/* 0, 1, 2.. per thread; a gap is a loss */
	u32 fill;		/* bytes of body, the unfinished record included */
	u32 tail_at;		/* offset of the unfinished record; == fill if there is none */
	struct adept_position head;
	struct adept_position tail;
	u64 dropped_chunks;	/* so far, under ADEPT_S_DROP */
	u64 dropped_bytes;
	u64 start_ns;		/* CLOCK_MONOTONIC when it was begun */
	u64 timestamp;		/* the same moment; see stream.h */
	u64 fs_base, gs_base;	/* of the application, when it was begun */
	u64 regs[16];		/* application registers at head, hardware order */
};

/**
 * struct adept_call - the system call that a thread is in
 *
 * Set when all that comes before the call is in the ring, cleared before anything else is
 * written there: who reads the same @before twice, and the chunk in between, has all of it.
 */
struct adept_call {
	u64 before;		/* its timestamp; 0: in none, or it is not told */
	u64 nr;
	u64 args[6];
};

/**
 * struct adept_thread - ring of one thread
 *
 * head and tail count chunks for ever; chunk c lives at index c % nchunks.  The
 * thread fills chunk head; chunks tail..head-1 belong to the collector, which
 * zeroes a chunk's body before it returns it (tail + 1).  So after the thread was
 * killed its last chunk can be read up to the first zero id.  If it was at_safepoint then,
 * that is all of it; else up to one record is missing.
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
	u32 discarding;		/* 1: what chunk head holds is not to be kept (null, stop) */
	u64 null_bytes;		/* ADEPT_S_NULL and after stop: bytes counted and discarded */
	u64 flushes;
	u64 start_ns;
	u32 at_safepoint;		/* 1: no record is unfinished, even if it ends now */
	u32 pad;
	u64 absent_chunks;	/* lost since its collector had gone, and did not come back.. */
	u64 absent_bytes;	/* ..within give_up_ns */
	struct adept_call call;
	u64 reserved[4];
	struct adept_chunk chunk[ADEPT_MAX_CHUNKS];
} __attribute__((aligned(ADEPT_PAGE)));

/*
 * Images that run natively are counted here, whoever lets them go: a collector that counts for
 * itself may be killed before it has told anybody.
 */
enum adept_native {
	ADEPT_NATIVE_BY_DESIGN,		/* 32-bit code and the like: native_images */
	ADEPT_NATIVE_PRIVILEGED,	/* native_images and native_privileged */
	ADEPT_NATIVE_LOST,		/* it should have been recorded: lost_procs */
};

static inline void adept_native_add(struct adept_session *s, enum adept_native kind)
{
	__atomic_fetch_add(kind == ADEPT_NATIVE_LOST ? &s->lost_procs : &s->native_images, 1,
			   __ATOMIC_RELAXED);
	if (kind == ADEPT_NATIVE_PRIVILEGED)
		__atomic_fetch_add(&s->native_privileged, 1, __ATOMIC_RELAXED);
}

/* Not below zero, whatever recorded processes have written there. */
static inline void adept_count_down(u32 *count)
{
	u32 n = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (n && !__atomic_compare_exchange_n(count, &n, n - 1, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
		;
}

/* Its execve failed. */
static inline void adept_native_sub(struct adept_session *s, enum adept_native kind)
{
	adept_count_down(kind == ADEPT_NATIVE_LOST ? &s->lost_procs : &s->native_images);
	if (kind == ADEPT_NATIVE_PRIVILEGED)
		adept_count_down(&s->native_privileged);
}

/* Their tracer has died. */
static inline void adept_following_lost(struct adept_session *s)
{
	u32 n = __atomic_exchange_n(&s->following, 0, __ATOMIC_RELAXED);

	__atomic_fetch_add(&s->lost_procs, n, __ATOMIC_RELAXED);
}

/**
 * struct adept_retired - the domain that keeps a process slot
 *
 * By the domain's founder, before it isolates itself.
 */
struct adept_retired {
	u32 domain;		/* 1 + the founder's slot; 0: nobody keeps it */
	u32 serial;		/* of the founder */
	u64 desc_head;		/* what it describes from here on has ids of the domain's */
	/* In the founder's entry: for processes, threads and fragments to come. */
	u32 serials;		/* the first of ADEPT_ISOLATED_SERIALS */
	u32 exits;		/* the first of ADEPT_ISOLATED_EXITS */
};

/** struct adept_retired_thread - the same of a thread slot */
struct adept_retired_thread {
	u32 domain;
	u32 serial;		/* of the thread that had it by then */
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
 * Take process slot @i at @p if it is free and of @domain (0: of none).  Return: 1 if it is ours.
 *
 * Who is in a domain can write what its slots' states are, but not whose they are.
 */
static inline int adept_claim_proc(struct adept_session *file, const struct adept_session *layout,
				   struct adept_proc *p, u32 i, u32 domain)
{
	u32 *keeper = &adept_retired_proc(file, layout, i)->domain, free = ADEPT_SLOT_FREE;
	u32 used = __atomic_load_n(&file->procs_used, __ATOMIC_RELAXED);

	if (__atomic_load_n(keeper, __ATOMIC_SEQ_CST) != domain)
		return 0;
	/* The collector must not overlook it. */
	while (used <= i && !__atomic_compare_exchange_n(&file->procs_used, &used, i + 1, 0,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	if (!__atomic_compare_exchange_n(&p->state, &free, ADEPT_SLOT_CLAIMED, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	/* A founder has claimed it in between, and left it free for its domain. */
	if (__atomic_load_n(keeper, __ATOMIC_SEQ_CST) != domain) {
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
 * struct adept_boot - what the injector hands to the engine image, at the engine image's start
 *
 * The engine image is a flat image: this structure's address is in rdi at its entry, the
 * stack pointer is the application's and must not be used.
 */
struct adept_boot {
	u64 session;		/* address of the session file's mapping */
	u64 image, image_size;
	/*
	 * Memory below 2 GiB for the branch tables, RW.  At first it has lines of /proc/PID/maps
	 * of before the engine came, as text: all that are executable, those of the first bytes
	 * of files, and the stack's.  The rest is zero.
	 */
	u64 low, low_size;
	u64 heap, heap_size;	/* reserved for the engine's data, PROT_NONE at first */
	u64 arena[2], arena_size[2];	/* RWX code cache near the libraries and near the program */
	u32 proc;		/* slot of this process, LIVE already */
	u32 cause;		/* enum adept_cause */
	u64 regs[16];		/* initial application registers, hardware order */
	u64 rip, rflags, fs_base, gs_base;
	u64 vdso, vdso_size;
	u64 fsgsbase;		/* 1: the kernel keeps what wrgsbase writes (HWCAP2_FSGSBASE) */
	u32 ns;			/* ADEPT_NS_* */
	u32 domain;		/* 1 + its founder's slot; 0: none, all is shared */
	u32 unused;
	u32 ptracer;		/* who must be allowed to trace children (Yama), 0: nobody */
	/*
	 * The session as it was made.  All sizes and places are taken from here: its own first
	 * page can be written by processes with fewer rights than this one.
	 */
	struct adept_session layout;
};

#endif
