/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events of a thread's stream and their payloads: system calls, signals, threads, forks.
 *
 * The engine writes these structures, and a store contains them.  In struct dep_event (recover.h),
 * id is an enum adept_event and payload points to the structure named in the comment of that
 * constant.  The payload can be unaligned.  The structures are packed, so access members through a
 * pointer to the structure, or copy it.  All numbers are little endian.
 */
#ifndef DEP_EVENTS_H
#define DEP_EVENTS_H

#include <stdint.h>

enum adept_event {
	ADEPT_EV_END = 0,	/* never written; id 0 (zeroed memory) is the end of the stream */
	ADEPT_EV_CONTEXT = 1,	/* struct adept_ev_context: the thread's pc and all registers */
	ADEPT_EV_PARTIAL = 2,	/* struct adept_ev_partial: thread left a fragment early */
	ADEPT_EV_SIGNAL = 3,	/* struct adept_ev_signal: a handler begins; CONTEXT follows */
	ADEPT_EV_SIGRETURN = 4,	/* 4 bytes of padding; CONTEXT follows */
	ADEPT_EV_SYSCALL = 5,	/* struct adept_ev_syscall */
	ADEPT_EV_FSBASE = 6,	/* uint64_t: new base address of segment fs */
	ADEPT_EV_THREAD_START = 7, /* struct adept_ev_start; CONTEXT follows */
	ADEPT_EV_THREAD_END = 8, /* struct adept_ev_end */
	ADEPT_EV_ATTACH = 9,	/* struct adept_ev_attach; ADEPT_EV_STACK and CONTEXT follow */
	ADEPT_EV_FORK = 10,	/* struct adept_ev_fork: in the parent, after fork or clone */
	ADEPT_EV_GAP = 11,	/* uint64_t; reserved, not written: code before it ran unrecorded */
	ADEPT_EV_GSBASE = 12,	/* uint64_t: new base address of segment gs */
	ADEPT_EV_BUFFER = 13,	/* struct adept_ev_buffer, one event for each buffer */
	ADEPT_EV_SHARED = 14,	/* struct adept_ev_shared: the object of a shared mapping */
	ADEPT_EV_DETACH = 15,	/* struct adept_ev_detach: the last event of a thread that lives */
	ADEPT_EV_STACK = 16,	/* struct adept_ev_stack: a piece of the stack at an attach */
};

/*
 * A timestamp is a value of the processor's time stamp counter.  The engine reads the counter
 * before each release operation and after each acquire operation.  So a release has a smaller
 * timestamp than an acquire that waited for it.
 */

/*
 * Payloads.  In the stream each payload follows its 32-bit event id without padding, so the
 * structures are packed.
 */
struct adept_ev_context {
	uint64_t pc;
	uint64_t fs_base;
	uint64_t regs[16];
} __attribute__((packed));

/*
 * The thread left fragment @frag (id of its first exit) after the first @ninsns instructions.  In
 * the stream, this structure is followed by the values stored up to then; the payload of a struct
 * dep_event does not include them.  If @has_extra is set, the next instruction was a string
 * instruction that was interrupted after some iterations.  @extra is then the value of its pointer
 * register (rdi, or rsi for lods) at the interruption.
 */
struct adept_ev_partial {
	uint32_t frag;
	uint16_t ninsns;
	uint16_t has_extra;
	uint32_t val_bytes;	/* size of the values that follow the structure in the stream */
	uint64_t extra;
} __attribute__((packed));

struct adept_ev_signal {
	uint32_t signo;
	int32_t code;		/* si_code */
	uint64_t pc;		/* interrupted application pc */
	uint64_t addr;		/* the signal's si_addr; 0 if it has none */
	uint64_t timestamp;
} __attribute__((packed));

/* A system call that returned. */
struct adept_ev_syscall {
	uint32_t nr;
	uint64_t result;
	uint64_t before, after;	/* timestamps */
	uint64_t args[6];	/* arguments as the application passed them */
	/* pipe, pipe2, socketpair: the two 32-bit descriptors as stored in memory; otherwise 0 */
	uint64_t out;
} __attribute__((packed));

struct adept_ev_start {
	uint32_t tid;
	uint32_t parent_serial;
	uint64_t created_at;	/* application pc of the clone call, 0 = first thread */
	uint64_t timestamp;
} __attribute__((packed));

struct adept_ev_end {
	uint32_t status;
	uint64_t timestamp;
} __attribute__((packed));

enum adept_attach_kind {
	ADEPT_ATTACH_RUNNING = 0,	/* the thread executed code of the program */
	ADEPT_ATTACH_CALL = 1,		/* in a system call, which goes on: its event follows */
	/* returned from the call that it was in at the attach; the call's event follows */
	ADEPT_ATTACH_RETURNED = 2,
};

/*
 * A thread of a process that ran already.  What it did before is not recorded, and the contents of
 * memory are not known.
 * @nr, @args: the system call that it was in, with kind ADEPT_ATTACH_CALL or ADEPT_ATTACH_RETURNED;
 *	otherwise @nr is -1
 * @tid_address: word that the kernel clears when the thread ends; 0: none, or not known
 * @timestamp: when it entered the engine
 */
struct adept_ev_attach {
	uint32_t tid;
	uint32_t kind;		/* enum adept_attach_kind */
	int64_t nr;
	uint64_t args[6];
	uint64_t tid_address;
	uint64_t timestamp;
} __attribute__((packed));

/*
 * Memory of the thread's stack as it was at the attach.  Pieces follow each other without gaps, the
 * first one from the stack pointer on.  Only the first @size bytes of @bytes are set.
 */
#define ADEPT_STACK_BYTES	496u

struct adept_ev_stack {
	uint64_t address;
	uint32_t size, pad;
	uint8_t bytes[ADEPT_STACK_BYTES];
} __attribute__((packed));

/* Why a thread that lives is not recorded any more. */
enum adept_detach_reason {
	ADEPT_DETACH_LEFT = 1,		/* the process was detached from */
	ADEPT_DETACH_PAUSED = 2,	/* it runs natively for a time */
};

struct adept_ev_detach {
	uint32_t reason;	/* enum adept_detach_reason */
	uint32_t pad;
	uint64_t timestamp;
} __attribute__((packed));

/* A fork or clone call.  The event comes directly before the ADEPT_EV_SYSCALL of the call. */
struct adept_ev_fork {
	uint32_t pid;		/* process id of the child */
	uint32_t flags;		/* flags of clone() */
	uint64_t before;	/* timestamp before the call */
	/* Address at which the kernel stores 0 when the child ends; 0: none. */
	uint64_t child_tid;
} __attribute__((packed));

/*
 * A buffer of a system call whose address is in memory, not in an argument: an element of an iovec
 * or of a message, for example.  @size is the number of bytes transferred.  The events of a call's
 * first ADEPT_BUFFERS buffers come before its ADEPT_EV_SYSCALL; further buffers are not recorded.
 */
struct adept_ev_buffer {
	uint64_t addr, size;
} __attribute__((packed));

#define ADEPT_BUFFERS	64u

/*
 * The object that an mmap or shmat call mapped as shared memory.  The event comes before the
 * ADEPT_EV_SYSCALL of the call.
 * @dev, @inode: identify the mapped file; for a System V segment @dev is ADEPT_SHARED_SYSV and
 *	@inode the segment's number
 * @size: size of the whole object when it was mapped, in bytes
 */
struct adept_ev_shared {
	uint64_t dev, inode;
	uint64_t size;
} __attribute__((packed));

#define ADEPT_SHARED_SYSV	(~0ull)

#endif
