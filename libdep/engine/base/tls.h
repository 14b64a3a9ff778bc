/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Per-thread state of the engine.  While a thread runs in the code cache or in the engine, its gs
 * base points to its struct tls.  Emitted code and assembler code access the first fields by the
 * TLS_* offsets.
 */
#ifndef ADEPT_ENGINE_BASE_TLS_H
#define ADEPT_ENGINE_BASE_TLS_H

#define TLS_SELF	0x00
#define TLS_R15		0x08	/* the application's r15; r15 itself is the record pointer */
#define TLS_IND0	0x10	/* rcx is saved here during an indirect branch */
#define TLS_IND1	0x18	/* rdx is saved here during an indirect branch */
#define TLS_SPILL0	0x20	/* application's values of up to three scratch registers */
#define TLS_SPILL1	0x28
#define TLS_SPILL2	0x30
#define TLS_GSBASE	0x38	/* the application's gs base */
#define TLS_TARGET	0x40	/* code cache address at which the thread enters the cache */
#define TLS_STACK	0x48	/* top of the thread's stack for engine code */
#define TLS_EXIT	0x50	/* heap_ref() of the exit by which the thread left the cache */
/* PENDING_*; if not 0, do not enter the cache or make a system call */
#define TLS_PENDING	0x58
#define TLS_REGS	0x60	/* application registers, hardware order; r15 as in TLS_R15 */
#define TLS_FLAGS	0xe0
#define TLS_PP		0xe8	/* record pointer while the thread is in the engine */
#define TLS_IBTARGET	0xf0
#define TLS_KEPT	0xf8
#define TLS_WAITS	0x120

#define CHUNK_END_AT	3800	/* the same as ADEPT_CHUNK_END_AT, for assembler code */

/* Offsets in struct adept_boot, for assembler code. */
#define BOOT_REGS	96
#define BOOT_RIP	224
#define BOOT_RFLAGS	232
#define BOOT_FSGSBASE	272
#define BOOT_UNDO	328
#define NR_GETTID	186
#define NR_MUNMAP	11
#define NR_EXIT		60
#define NR_ARCH_PRCTL	158
#define ARCH_SET_GS	0x1001
#define NR_RT_SIGPROCMASK 14
#define SIG_SETMASK	2
#define NR_RT_SIGTIMEDWAIT 128
#define USER_CS		0x33	/* segment selectors of 64-bit programs */
#define USER_SS		0x2b

/* Offsets in struct adept_leaver, for assembler code; the registers come first. */
#define LEAVER_RSP	32
#define LEAVER_RIP	128
#define LEAVER_RFLAGS	136
#define LEAVER_GS_BASE	144
#define LEAVER_MASK	152
#define LEAVER_SYNC_BLOCKED 160

/* Offsets in struct parting (os/native_child.c), which begins with a struct adept_leaver. */
#define PARTING_N	176
#define PARTING_UNMAP	184
#define PARTING_SIZE	856

/* Flags in struct tls.pending. */
#define PENDING_SIGNAL	1	/* a signal waits to be delivered */
#define PENDING_STOP	2	/* another thread may be stopping the process */
#define PENDING_HELD	4	/* a signal was held back, blocked or not */

/*
 * Number of synchronous signals: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV.  The processor raises
 * these, unless a process sends them.
 */
#define ADEPT_SYNC_SIGNALS 5

/* Result of app_syscall() if a signal arrived before the system call, which was not made. */
#define SYS_ABORTED	-4095

#ifndef __ASSEMBLER__
#include "libdep/abi/stream.h"
#include "libdep/abi/boot.h"
#include "lock.h"

struct frag;
struct group;
struct handlers;

/* A signal that waits for delivery, with data from the kernel's signal frame; see os/signal.c. */
struct sig_pending {
	u32 signo;
	u32 forced;		/* 1: raised by a fault, so it cannot be blocked or ignored */
	u64 mask;		/* the application's signal mask when the signal arrived */
	u64 err, trapno, cr2;
	u64 xfeatures;		/* XSAVE state components that the kernel saves in a signal frame */
	u32 xsize;		/* size in bytes of the XSAVE area in a signal frame */
	u8 info[128];		/* siginfo_t */
};

#define SLOW_CALLS	8u

struct tls {
	u64 self;
	u64 app_r15;
	u64 ind[2];
	u64 spill[3];
	u64 app_gs_base;
	u64 target;
	u64 stack_top;
	u64 exit;
	u64 pending;
	u64 regs[16];
	u64 flags;
	u64 pp;
	u64 ib_target;
	struct adept_kept kept;	/* written by a tracer; see os/leave.c */
	u64 waits;		/* address of struct adept_leaver while it waits to leave, or 0 */

	u64 before;		/* timestamp before the current system call */
	u64 resume_pc;		/* application pc at which execution continues */
	u16 resume_known;	/* bit mask of the registers that recovery knows at resume_pc */
	u64 fs_base;
	u32 tid;
	u32 slot;		/* thread slot in the session file; ~0: unrecorded */
	struct adept_thread *ring;
	u64 chunk_base;		/* start of the chunk that the thread fills; chunk_end: its end */
	u64 chunk_end;
	u64 scratch_chunk;	/* private chunk for records that are not stored, or 0 */
	int discard;		/* 1: the thread is not recorded and overwrites its chunk */
	/* 1: the collector is gone but may return; the scratch chunk is used */
	int absent;
	u64 absent_chunks;	/* times the scratch chunk was filled since absent was set */

	/* Signals (os/signal.c). */
	struct handlers *handlers;
	struct sig_pending sig;
	u64 sync_blocked;	/* synchronous signals that are blocked in the application's view */
	/* synchronous signals that were sent and held back (os/sigmask.h) */
	u64 held;
	u8 held_info[ADEPT_SYNC_SIGNALS][128];	/* struct k_siginfo of each held signal */
	u64 app_altstack[3];	/* stack_t of the application */
	u64 sig_stack, sig_stack_size;	/* the engine's alternate stack */

	/* Threads (os/thread.c). */
	struct tls *next;	/* list of all threads in the address space; under threads_lock */
	struct tls **pprev;
	u32 gone;		/* 1: about to exit; this memory can be reused */
	u32 parent_serial;	/* serial of the thread that created this one */
	u32 parent_process;	/* serial of the process that forked this one */
	u64 created_at;		/* application pc of the clone that created this thread */
	u64 tid_address;	/* word that the kernel clears when the thread ends, or 0 */
	u64 child_tid_address;	/* @tid_address of the thread or process being created */
	u64 blocked_mask;	/* signal mask to set when a new thread starts */
	u32 own_process;	/* 1: vfork child, another process in its parent's memory */
	u32 unwanted;		/* 1: in such a child that is not to be recorded */
	/* the injector's data about a thread that is older than the engine, or NULL */
	struct adept_attached *attached;
	s64 interrupted_call;	/* number of the system call that syscall_go_on() makes, or -1 */
	u32 clear_handlers;	/* 1: created with CLONE_CLEAR_SIGHAND, so reset signal handlers */
	struct group *group;	/* the threads of the same process (thread_list.h) */
	u32 stop_state;		/* enum stop_state */
	/* 1: ring_put_thread_end() has written an end event at the record pointer */
	u32 marked;
	u32 strict;		/* 1: the thread is in seccomp's strict mode (os/seccomp.c) */
	/* 1: the program has forbidden the thread to read the time stamp counter (os/tsc.c) */
	u32 tsc_forbidden;
	/* calls under way of functions of triggers, innermost last (record/triggers.c) */
	struct {
		u64 sp;		/* at the function's entry */
		u64 since_ns;
		u32 number;	/* of the trigger */
	} slow[SLOW_CALLS];
	u32 nslow;
};

/* The kernel module and recovery access these fields by their ADEPT_GS_* indices. */
_Static_assert(TLS_R15 == 8 * ADEPT_GS_R15 && TLS_IND0 == 8 * ADEPT_GS_RCX &&
	       TLS_IND1 == 8 * ADEPT_GS_RDX && TLS_SPILL0 == 8 * ADEPT_GS_SPILL &&
	       TLS_SPILL1 == 8 * ADEPT_GS_RSP &&
	       TLS_GSBASE == 8 * ADEPT_GS_GSBASE && TLS_PENDING == 8 * ADEPT_GS_PENDING &&
	       PENDING_STOP == ADEPT_PENDING_STOP && TLS_KEPT == 8 * ADEPT_GS_KEPT &&
	       TLS_WAITS == 8 * ADEPT_GS_WAITS, "ADEPT_GS_*");
_Static_assert(offsetof(struct tls, kept) == TLS_KEPT, "TLS_KEPT");
_Static_assert(offsetof(struct tls, waits) == TLS_WAITS, "TLS_WAITS");
_Static_assert(CHUNK_END_AT == ADEPT_CHUNK_END_AT, "CHUNK_END_AT");
_Static_assert(offsetof(struct adept_boot, regs) == BOOT_REGS, "BOOT_REGS");
_Static_assert(offsetof(struct adept_boot, rip) == BOOT_RIP, "BOOT_RIP");
_Static_assert(offsetof(struct adept_boot, rflags) == BOOT_RFLAGS, "BOOT_RFLAGS");
_Static_assert(offsetof(struct adept_boot, fsgsbase) == BOOT_FSGSBASE, "BOOT_FSGSBASE");
_Static_assert(offsetof(struct adept_boot, undo) == BOOT_UNDO, "BOOT_UNDO");
_Static_assert(offsetof(struct adept_leaver, rip) == LEAVER_RIP, "LEAVER_RIP");
_Static_assert(offsetof(struct adept_leaver, rflags) == LEAVER_RFLAGS, "LEAVER_RFLAGS");
_Static_assert(offsetof(struct adept_leaver, gs_base) == LEAVER_GS_BASE, "LEAVER_GS_BASE");
_Static_assert(offsetof(struct adept_leaver, mask) == LEAVER_MASK, "LEAVER_MASK");
_Static_assert(offsetof(struct adept_leaver, sync_blocked) == LEAVER_SYNC_BLOCKED,
	       "LEAVER_SYNC_BLOCKED");
_Static_assert(offsetof(struct tls, app_r15) == TLS_R15, "TLS_R15");
_Static_assert(offsetof(struct tls, ind) == TLS_IND0, "TLS_IND0");
_Static_assert(offsetof(struct tls, spill) == TLS_SPILL0, "TLS_SPILL0");
_Static_assert(offsetof(struct tls, exit) == TLS_EXIT, "TLS_EXIT");
_Static_assert(offsetof(struct tls, target) == TLS_TARGET, "TLS_TARGET");
_Static_assert(offsetof(struct tls, stack_top) == TLS_STACK, "TLS_STACK");
_Static_assert(offsetof(struct tls, app_gs_base) == TLS_GSBASE, "TLS_GSBASE");
_Static_assert(offsetof(struct tls, pending) == TLS_PENDING, "TLS_PENDING");
_Static_assert(offsetof(struct tls, regs) == TLS_REGS, "TLS_REGS");
_Static_assert(offsetof(struct tls, flags) == TLS_FLAGS, "TLS_FLAGS");
_Static_assert(offsetof(struct tls, pp) == TLS_PP, "TLS_PP");
_Static_assert(offsetof(struct tls, ib_target) == TLS_IBTARGET, "TLS_IBTARGET");

#endif
#endif
