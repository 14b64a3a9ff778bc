/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events of a thread's stream and their payloads: system calls, signals, threads, forks.
 *
 * The engine writes these structures, a store contains them, and struct dep_event of recover.h
 * passes them on: id is an enum adept_event, and payload points to the structure that is named
 * here.  Its address can be unaligned; the structures are packed, so access members through a
 * pointer to the structure, or copy it.  Little endian.
 */
#ifndef DEP_EVENTS_H
#define DEP_EVENTS_H

#include <stdint.h>

enum adept_event {
	ADEPT_EV_END = 0,	/* never written: zeroed memory, the end of the stream */
	ADEPT_EV_CONTEXT = 1,	/* struct adept_ev_context: continues at pc, registers known */
	ADEPT_EV_PARTIAL = 2,	/* struct adept_ev_partial: fragment left in the middle */
	ADEPT_EV_SIGNAL = 3,	/* struct adept_ev_signal: handler will run; CONTEXT follows */
	ADEPT_EV_SIGRETURN = 4,	/* 4 bytes of padding; CONTEXT follows */
	ADEPT_EV_SYSCALL = 5,	/* struct adept_ev_syscall */
	ADEPT_EV_FSBASE = 6,	/* uint64_t */
	ADEPT_EV_THREAD_START = 7, /* struct adept_ev_start; CONTEXT follows */
	ADEPT_EV_THREAD_END = 8, /* struct adept_ev_end */
	ADEPT_EV_FORK = 10,	/* struct adept_ev_fork: in the parent, after fork or clone */
	ADEPT_EV_GAP = 11,	/* uint64_t bytes: code ran unrecorded up to here */
	ADEPT_EV_GSBASE = 12,	/* uint64_t */
	ADEPT_EV_BUFFER = 13,	/* struct adept_ev_buffer, one event for each buffer */
	ADEPT_EV_SHARED = 14,	/* struct adept_ev_shared */
};

/*
 * A timestamp is a reading of the processor's time stamp counter.  One is taken before each release
 * and one after each acquire, so a release has a smaller timestamp than an acquire that it allowed.
 */

/* Payloads.  Each follows its 32-bit event id immediately; hence they are packed. */
struct adept_ev_context {
	uint64_t pc;
	uint64_t fs_base;
	uint64_t regs[16];
} __attribute__((packed));

/*
 * A fragment, named by its first exit id, was left after its first ninsns instructions.  In the
 * stream, the values stored until then follow; struct dep_event leaves them out.  With has_extra
 * the next instruction was a string instruction that was interrupted after some iterations; extra
 * is its pointer register (rdi, or rsi for lods) then.
 */
struct adept_ev_partial {
	uint32_t frag;
	uint16_t ninsns;
	uint16_t has_extra;
	uint32_t val_bytes;	/* of the values that follow */
	uint64_t extra;
} __attribute__((packed));

struct adept_ev_signal {
	uint32_t signo;
	int32_t code;		/* si_code */
	uint64_t pc;		/* interrupted application pc */
	uint64_t addr;		/* si_addr or 0 */
	uint64_t timestamp;
} __attribute__((packed));

/* A system call that returned. */
struct adept_ev_syscall {
	uint32_t nr;
	uint64_t result;
	uint64_t before, after;	/* timestamps */
	uint64_t args[6];	/* as the application gave them */
	uint64_t out;		/* of pipe, pipe2 and socketpair: the two descriptors; else 0 */
} __attribute__((packed));

struct adept_ev_start {
	uint32_t tid;
	uint32_t parent_serial;
	uint64_t created_at;	/* application pc of the clone, 0 = first thread */
	uint64_t timestamp;
} __attribute__((packed));

struct adept_ev_end {
	uint32_t status;
	uint64_t timestamp;
} __attribute__((packed));

/* In front of the EV_SYSCALL of the same call. */
struct adept_ev_fork {
	uint32_t pid;		/* of the child */
	uint32_t flags;		/* of clone */
	uint64_t before;	/* timestamp */
	/* Address at which the kernel stores 0 when the child ends; or 0. */
	uint64_t child_tid;
} __attribute__((packed));

/*
 * In front of the EV_SYSCALL of the same call: a buffer whose address is in memory and not in the
 * arguments (an iovec of readv, a part of a message).  The size is that of the data transferred.
 * Only the first ADEPT_BUFFERS buffers of a call are recorded.
 */
struct adept_ev_buffer {
	uint64_t addr, size;
} __attribute__((packed));

#define ADEPT_BUFFERS	64u

/*
 * In front of the EV_SYSCALL of the same mmap or shmat: the object of a shared mapping.
 * @dev, @inode: of the file; of a System V segment ADEPT_SHARED_SYSV and its number
 * @size: of the whole object at that time
 */
struct adept_ev_shared {
	uint64_t dev, inode;
	uint64_t size;
} __attribute__((packed));

#define ADEPT_SHARED_SYSV	(~0ull)

#endif
