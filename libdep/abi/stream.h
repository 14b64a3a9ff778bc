/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What travels in the streams: records and events in a thread's ring, descriptors
 * in a process's descriptor ring.  Little endian, as the processor writes it.
 *
 * A record:	[exit id : 32] [value : 64]...
 * An event:	[event id : 32] [payload, a multiple of 4 bytes, length by id]
 *
 * A record's number and kinds of values follow from its exit's descriptor.  Values
 * are 64 bits but for vector stores, which take their full size.
 */
#ifndef ADEPT_ABI_STREAM_H
#define ADEPT_ABI_STREAM_H

#include "types.h"

/* ---- events ---- */

enum adept_event {
	ADEPT_EV_END = 0,	/* never written: zeroed memory, end of what was recorded */
	ADEPT_EV_CONTEXT = 1,	/* struct adept_ev_context: goes on at pc, registers known */
	ADEPT_EV_PARTIAL = 2,	/* struct adept_ev_partial + values: fragment left in the middle */
	ADEPT_EV_SIGNAL = 3,	/* struct adept_ev_signal: handler about to run; CONTEXT follows */
	ADEPT_EV_SIGRETURN = 4,	/* no payload but pad; CONTEXT follows */
	ADEPT_EV_SYSCALL = 5,	/* struct adept_ev_syscall */
	ADEPT_EV_FSBASE = 6,	/* u64 */
	ADEPT_EV_THREAD_START = 7, /* struct adept_ev_start; CONTEXT follows */
	ADEPT_EV_THREAD_END = 8, /* struct adept_ev_end */
	ADEPT_EV_FORK = 10,	/* struct adept_ev_fork: in the parent, after fork or clone */
	ADEPT_EV_GAP = 11,	/* u64 bytes: recorded code ran unrecorded up to here */
	ADEPT_EV_GSBASE = 12,	/* u64 */
	ADEPT_EV_BUFFER = 13,	/* struct adept_ev_buffer, one for each */
	ADEPT_EV_SHARED = 14,	/* struct adept_ev_shared */
};

/*
 * A timestamp says when: the processor's time stamp counter.  One is taken before what lets
 * other threads go on (a release) and one after what was let go on (an acquire), so of two
 * that belong together the release has the smaller one.
 */

/* Payloads; each follows its 32-bit event id immediately (so they are packed). */
struct adept_ev_context {
	u64 pc;
	u64 fs_base;
	u64 regs[16];
} __attribute__((packed));

/*
 * The fragment (by its first exit id) was entered, its first ninsns instructions
 * were done, the nvals values stored on the way follow.  With has_extra the next
 * instruction was a string instruction interrupted after some iterations: extra is
 * its pointer register (rdi, or rsi for lods) by then.
 */
struct adept_ev_partial {
	u32 frag;
	u16 ninsns;
	u16 has_extra;
	u32 val_bytes;		/* of the values that follow */
	u64 extra;
} __attribute__((packed));

struct adept_ev_signal {
	u32 signo;
	s32 code;		/* si_code */
	u64 pc;			/* interrupted application pc */
	u64 addr;		/* si_addr or 0 */
	u64 timestamp;
} __attribute__((packed));

/* One that returned; after its instruction. */
struct adept_ev_syscall {
	u32 nr;
	u64 result;
	u64 before, after;	/* timestamps */
	u64 args[6];		/* as the application gave them */
	u64 out;		/* of pipe, pipe2 and socketpair: the two descriptors; else 0 */
} __attribute__((packed));

struct adept_ev_start {
	u32 tid;
	u32 parent_serial;
	u64 created_at;		/* application pc of the clone, 0 = first thread */
	u64 timestamp;
} __attribute__((packed));

struct adept_ev_end {
	u32 status;
	u64 timestamp;
} __attribute__((packed));

/* In front of the EV_SYSCALL of the same call. */
struct adept_ev_fork {
	u32 pid;		/* of the child */
	u32 flags;		/* of clone */
	u64 before;		/* timestamp */
	u64 child_tid;		/* where the kernel stores 0 when the child has ended, or 0 */
} __attribute__((packed));

/*
 * In front of the EV_SYSCALL of the same call: a buffer that it found in memory (the vectors of
 * readv, what a message consists of), as far as it moved data; the first ADEPT_BUFFERS of them.
 */
struct adept_ev_buffer {
	u64 addr, size;
} __attribute__((packed));

#define ADEPT_BUFFERS	64u

/*
 * In front of the EV_SYSCALL of the same mmap or shmat: what it mapped so that others can share
 * it.  Of a file its device and inode, of a segment ADEPT_SHARED_SYSV and its number.
 */
struct adept_ev_shared {
	u64 dev, inode;
	u64 size;		/* of all of it, then */
} __attribute__((packed));

#define ADEPT_SHARED_SYSV	(~0ull)

/*
 * Bytes after the 32-bit id of event @id, the values of EV_PARTIAL not counted;
 * -1: no such event.
 */
static inline int adept_event_size(u32 id)
{
	switch (id) {
	case ADEPT_EV_CONTEXT:
		return sizeof(struct adept_ev_context);
	case ADEPT_EV_PARTIAL:
		return sizeof(struct adept_ev_partial);
	case ADEPT_EV_SIGNAL:
		return sizeof(struct adept_ev_signal);
	case ADEPT_EV_SIGRETURN:
		return 4;
	case ADEPT_EV_SYSCALL:
		return sizeof(struct adept_ev_syscall);
	case ADEPT_EV_FSBASE:
	case ADEPT_EV_GSBASE:
	case ADEPT_EV_GAP:
		return 8;
	case ADEPT_EV_THREAD_START:
		return sizeof(struct adept_ev_start);
	case ADEPT_EV_THREAD_END:
		return sizeof(struct adept_ev_end);
	case ADEPT_EV_FORK:
		return sizeof(struct adept_ev_fork);
	case ADEPT_EV_BUFFER:
		return sizeof(struct adept_ev_buffer);
	case ADEPT_EV_SHARED:
		return sizeof(struct adept_ev_shared);
	default:
		return -1;
	}
}

/* ---- descriptors ---- */

enum adept_desc_type {
	ADEPT_DESC_PAD = 0,	/* skip to the ring's end */
	ADEPT_DESC_FRAGMENT = 1,
	ADEPT_DESC_MAP = 2,	/* executable mapping seen */
	ADEPT_DESC_UNMAP = 3,
	ADEPT_DESC_MESSAGE = 4,	/* text for people: something that could not be recorded */
};

/* Every descriptor begins so; size is a multiple of 8 and counts this header. */
struct adept_desc {
	u32 size;
	u32 type;
};

/* What a store puts into the record. */
enum adept_store_kind {
	ADEPT_ST_REG = 1,	/* register arg before the instruction: becomes known */
	ADEPT_ST_EA = 2,	/* address (segment base not included) of mem[arg] before it */
	ADEPT_ST_POST = 3,	/* register arg after a string instruction */
	/* vector register arg & 31 before it; size arg >> 5: 0 16, 1 32, 2 64 bytes */
	ADEPT_ST_VEC = 4,
	ADEPT_ST_KREG = 5,	/* opmask register arg before it */
	/* self-check: register arg before it, must equal the derived value */
	ADEPT_ST_CHECK = 6,
	/* register arg after instruction insn (before an exit): becomes known */
	ADEPT_ST_EXIT_REG = 7,
	ADEPT_ST_FSBASE = 8,	/* new fs base (wrfsbase), before it */
	/* of a locked instruction: a timestamp before it.. */
	ADEPT_ST_BEFORE = 9,
	/* ..and one after it; the highest byte of lock cmpxchg's is 1 if it exchanged */
	ADEPT_ST_AFTER = 10,
};

#define ADEPT_TIMESTAMP_MASK	0x00ffffffffffffffull
#define ADEPT_TIMESTAMP_DONE	0x0100000000000000ull

struct adept_store {
	u8 insn;		/* index of the instruction in the fragment */
	/*
	 * Register whose value is in ADEPT_GS_SPILL meanwhile, + 1; or 0.  Of a timestamp's
	 * store rax and rdx are in the two words after that one.
	 */
	u8 held;
	u8 kind;		/* enum adept_store_kind */
	u8 arg;
};

/* Bytes that the value of store @st takes in the record; 0: no such store. */
static inline u32 adept_store_bytes(const struct adept_store *st)
{
	if (st->kind == ADEPT_ST_VEC)
		return (st->arg >> 5) < 3 ? 16u << (st->arg >> 5) : 0;
	return st->kind >= ADEPT_ST_REG && st->kind <= ADEPT_ST_AFTER ? 8 : 0;
}

static inline int adept_store_is_timestamp(const struct adept_store *st)
{
	return st->kind == ADEPT_ST_BEFORE || st->kind == ADEPT_ST_AFTER;
}

enum adept_exit_kind {
	ADEPT_X_DIRECT,		/* goes to target */
	ADEPT_X_INDIRECT,	/* jmp or call through a register or memory, ret */
	ADEPT_X_SYSCALL,	/* target: the instruction after it */
	ADEPT_X_TRAP,		/* the instruction at target always faults or cannot be run here */
};

/* Where the application is when an exit's id is stored. */
#define ADEPT_XT_BEFORE	0x1u	/* before its last instruction, else after it */
#define ADEPT_XT_PUSHED	0x2u	/* that has pushed its return address, though */
#define ADEPT_XT_RCX	0x4u	/* rcx is in ADEPT_GS_RCX */
#define ADEPT_XT_RDX	0x8u	/* rdx is in ADEPT_GS_RDX */
#define ADEPT_XT_ALL	0xfu

struct adept_exit {
	u16 ninsns;		/* instructions done when it is taken, the branch included */
	u16 nstores;		/* stores passed on the way */
	u16 mask;		/* registers known after it */
	u8 kind;		/* enum adept_exit_kind */
	u8 at_id;		/* ADEPT_XT_* */
	u64 target;
};

/*
 * The words at the thread's gs base that have application registers while it is in the
 * code cache.
 */
#define ADEPT_GS_R15	1u
#define ADEPT_GS_RCX	2u
#define ADEPT_GS_RDX	3u
#define ADEPT_GS_SPILL	4u
#define ADEPT_GS_RSP	5u	/* when the engine itself ends a chunk, ADEPT_CHUNK_END_AT */
#define ADEPT_GS_GSBASE	7u	/* its gs base */

/* A run of instructions at consecutive addresses. */
struct adept_run {
	u64 pc;
	u32 ninsns;
	u16 function;		/* enum dep_function (dep/functions.h) that begins at pc, or 0 */
	u16 returns;		/* 1: calls of such functions return to pc */
};

/**
 * struct adept_desc_frag - one fragment version
 *
 * Followed by, in order: adept_run[nruns], adept_exit[nexits],
 * adept_store[nstores], code bytes of all instructions back to back (their lengths
 * follow from decoding), zero padding to a multiple of 8.
 */
struct adept_desc_frag {
	struct adept_desc h;
	u32 first_exit;		/* exits have ids first_exit .. first_exit + nexits - 1 */
	u16 nexits;
	u16 nruns;
	u16 ninsns;
	u16 nstores;
	u16 entry_mask;
	u16 code_len;
};

/* Followed by the path, NUL terminated, padded. */
struct adept_desc_map {
	struct adept_desc h;
	u64 start, end;
	u64 offset;
	u64 dev, inode;		/* dev: major << 32 | minor */
	u32 prot;		/* PROT_* */
	u32 pad;
	u64 time_ns;
};

struct adept_desc_unmap {
	struct adept_desc h;
	u64 start, end;
	u64 time_ns;
};

#endif
