/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contents of the streams: records and events in a thread's ring, descriptors in a process's
 * descriptor ring.  Little endian.
 *
 * A record:	[exit id : 32] [value : 64]...
 * An event:	[event id : 32] [payload, a multiple of 4 bytes, length by id]
 *
 * The descriptor of the exit determines number and kinds of a record's values.  Values have 64
 * bits; those of vector registers have the register's size.
 */
#ifndef ADEPT_ABI_STREAM_H
#define ADEPT_ABI_STREAM_H

#include "dep/events.h"
#include "types.h"

/* ---- events: dep/events.h ---- */

/*
 * Size in bytes of the payload of event @id, without the values that follow ADEPT_EV_PARTIAL; -1 if
 * there is no such event.
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
	case ADEPT_EV_ATTACH:
		return sizeof(struct adept_ev_attach);
	case ADEPT_EV_STACK:
		return sizeof(struct adept_ev_stack);
	case ADEPT_EV_DETACH:
		return sizeof(struct adept_ev_detach);
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
	ADEPT_DESC_PAD = 0,	/* padding up to the ring's end */
	ADEPT_DESC_FRAGMENT = 1,
	/* an executable mapping from which code is executed; or one of a file, at an attach */
	ADEPT_DESC_MAP = 2,
	ADEPT_DESC_UNMAP = 3,
	ADEPT_DESC_MESSAGE = 4,	/* message for users: text */
	/* only with ADEPT_S_KEEP_TRANSLATIONS; follows the fragment's descriptor */
	ADEPT_DESC_TRANSLATION = 5,
	ADEPT_DESC_LOG = 6,	/* line of the engine's log, for areas enabled by ADEPT_S_LOG() */
	/* of a process that ran already; written by the injector, before the engine starts */
	ADEPT_DESC_ATTACH = 7,
	ADEPT_DESC_FILE = 8,	/* an open descriptor */
	/* only with adept_session.tell_removed */
	ADEPT_DESC_REMOVED = 9,	/* no thread enters the fragment any more; never stored */
	ADEPT_DESC_FORKED = 10,	/* a child will have all that the process has now */
};

/* Header of every descriptor; size is a multiple of 8 and includes the header. */
struct adept_desc {
	u32 size;
	u32 type;
};

/* Kind of the value that a store adds to the record. */
enum adept_store_kind {
	/* register arg before the instruction; recovery knows the register from there on */
	ADEPT_ST_REG = 1,
	/* address of memory operand arg before the instruction, without the segment base */
	ADEPT_ST_EA = 2,
	ADEPT_ST_POST = 3,	/* value of register arg after a string instruction */
	/*
	 * vector register arg & 31 before the instruction; arg >> 5 is the size: 0, 1, 2 for 16,
	 * 32, 64 bytes
	 */
	ADEPT_ST_VEC = 4,
	ADEPT_ST_KREG = 5,	/* opmask register arg before the instruction */
	/*
	 * self-check: register arg before the instruction; must equal the value that recovery
	 * derives
	 */
	ADEPT_ST_CHECK = 6,
	/* register arg after instruction insn, before an exit; recovery knows it from there on */
	ADEPT_ST_EXIT_REG = 7,
	ADEPT_ST_FSBASE = 8,	/* new fs base, stored before wrfsbase */
	ADEPT_ST_BEFORE = 9,	/* timestamp before a locked instruction */
	/* timestamp after a locked instruction; with ADEPT_TIMESTAMP_DONE if a cmpxchg succeeded */
	ADEPT_ST_AFTER = 10,
};

#define ADEPT_TIMESTAMP_MASK	0x00ffffffffffffffull
#define ADEPT_TIMESTAMP_DONE	0x0100000000000000ull

struct adept_store {
	u8 insn;		/* index of the instruction in the fragment */
	/*
	 * 1 + number of the register that is spilled to ADEPT_GS_SPILL at the store; 0: none.  At
	 * the store of a timestamp, rax and rdx are spilled to the two words after ADEPT_GS_SPILL.
	 */
	u8 held;
	u8 kind;		/* enum adept_store_kind */
	u8 arg;
};

/* Size of the value of store @st in the record; 0: invalid. */
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
	ADEPT_X_DIRECT,		/* execution continues at the exit's target */
	ADEPT_X_INDIRECT,	/* indirect jmp or call, or ret */
	ADEPT_X_SYSCALL,	/* a system call; target: the instruction after it */
	ADEPT_X_TRAP,		/* target is an instruction that faults or cannot be translated */
};

/* State of the application when the exit's id is stored in the ring. */
/* the exit's last instruction has not been executed yet; otherwise it has */
#define ADEPT_XT_BEFORE	0x1u
/* with ADEPT_XT_BEFORE: the return address is already pushed */
#define ADEPT_XT_PUSHED	0x2u
#define ADEPT_XT_RCX	0x4u	/* the application's rcx is in ADEPT_GS_RCX */
#define ADEPT_XT_RDX	0x8u	/* the application's rdx is in ADEPT_GS_RDX */
#define ADEPT_XT_ALL	0xfu

struct adept_exit {
	/* number of instructions executed up to the exit, including the branch */
	u16 ninsns;
	u16 nstores;		/* number of value stores executed up to the exit */
	/* bit mask of registers whose values recovery knows after the exit */
	u16 mask;
	u8 kind;		/* enum adept_exit_kind */
	u8 at_id;		/* ADEPT_XT_* */
	u64 target;
};

/*
 * Indices of the 8-byte words at the thread's gs base that have the application's registers while
 * the thread is in the code cache.
 */
#define ADEPT_GS_R15	1u
#define ADEPT_GS_RCX	2u
#define ADEPT_GS_RDX	3u
#define ADEPT_GS_SPILL	4u
#define ADEPT_GS_RSP	5u	/* rsp, while the engine ends a chunk (ADEPT_CHUNK_END_AT) */
#define ADEPT_GS_GSBASE	7u	/* the application's gs base */
/* With ADEPT_PENDING_STOP, the thread comes to a safe point before it enters the code cache. */
#define ADEPT_GS_PENDING 11u
#define ADEPT_PENDING_STOP 2u
#define ADEPT_GS_KEPT	31u	/* struct adept_kept */
/* Address of struct adept_leaver while the thread waits to leave the engine, or 0. */
#define ADEPT_GS_WAITS	36u

/* A sequence of instructions at consecutive addresses. */
struct adept_run {
	u64 pc;
	u32 ninsns;
	u16 function;		/* enum dep_function of the function that begins at pc, or 0 */
	u16 returns;		/* 1: calls of hooked functions return to pc */
};

/**
 * struct adept_desc_frag - descriptor of one version of a fragment
 *
 * Followed by, in this order: adept_run[nruns], adept_exit[nexits], adept_store[nstores], the code
 * bytes of all instructions without gaps, zero padding to a multiple of 8.
 */
struct adept_desc_frag {
	struct adept_desc h;
	u32 first_exit;		/* exit ids are first_exit .. first_exit + nexits - 1 */
	u16 nexits;
	u16 nruns;
	u16 ninsns;
	u16 nstores;
	u16 entry_mask;
	u16 code_len;
};

/* Kind of the code in the code cache from adept_code_place.off on. */
enum adept_code_kind {
	/* copies of the instructions from insn on; a slot in the TLS block may replace r15 */
	ADEPT_CODE_COPY,
	/* code for instruction insn: value stores, its replacement, or its branch */
	ADEPT_CODE_ADDED,
	ADEPT_CODE_ENTRY,	/* code before the fragment's first instruction */
	ADEPT_CODE_EXIT,	/* end of a record and jump to the next fragment; exit stub */
	ADEPT_CODE_DATA,	/* literals */
	ADEPT_CODE_KINDS
};

struct adept_code_place {
	u16 off;		/* offset in the bytes of the hot part followed by the cold part */
	/* with ADEPT_CODE_COPY and ADEPT_CODE_ADDED: index of the instruction in the fragment */
	u8 insn;
	u8 kind;		/* enum adept_code_kind */
};

/**
 * struct adept_desc_translation - code of a fragment in the code cache, as first built
 *
 * Jumps between fragments are patched later, without a new descriptor.
 *
 * Followed by adept_code_place[nplaces], sorted by offset, the first at 0; the bytes of the hot
 * part (main code) and of the cold part (exit stubs, literals) without gaps; zero padding to a
 * multiple of 8.
 */
struct adept_desc_translation {
	struct adept_desc h;
	u32 first_exit;		/* first exit id of the fragment */
	u16 hot_len, cold_len;
	u64 hot, cold;		/* addresses of the two parts in the code cache */
	u32 nplaces;
	u32 pad;
};

/* Followed by the mapped file's path, NUL-terminated and padded to a multiple of 8. */
struct adept_desc_map {
	struct adept_desc h;
	u64 start, end;
	u64 offset;
	u64 dev, inode;		/* dev: major << 32 | minor */
	u32 prot;		/* PROT_* */
	u32 pad;
	u64 time_ns;
};

/* Followed by the text of the line, NUL-terminated and padded to a multiple of 8. */
struct adept_desc_log {
	struct adept_desc h;
	u64 time_ns;
	u32 tid;
	u32 area;		/* enum adept_log_area */
};

/* The state of a process shortly before an attach; the rest is in MAP and FILE descriptors. */
struct adept_desc_attach {
	struct adept_desc h;
	u64 time_ns;
	u32 maps_left_out, files_left_out;	/* did not fit */
};

/*
 * Followed by two NUL-terminated texts, padded to a multiple of 8: the path, and the addresses of a
 * socket; each may be empty.
 */
struct adept_desc_file {
	struct adept_desc h;
	s32 fd;
	u32 kind;		/* enum dep_file_kind */
	u64 dev, inode;		/* dev: major << 32 | minor */
	u64 position;
	u32 flags;		/* O_*, as in /proc/PID/fdinfo */
	u32 pad;
};

/*
 * A thread that was in the fragment at time_ns may still write one record of it.  No child has the
 * fragment, unless an ADEPT_DESC_FORKED is between its descriptor and this one.
 */
struct adept_desc_removed {
	struct adept_desc h;
	u32 first_exit;		/* first exit id of the fragment */
	u32 pad;
	u64 time_ns;
};

struct adept_desc_forked {
	struct adept_desc h;
	u64 time_ns;
};

struct adept_desc_unmap {
	struct adept_desc h;
	u64 start, end;
	u64 time_ns;
};

#endif
