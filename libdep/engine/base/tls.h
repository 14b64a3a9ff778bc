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
#define TLS_IND0	0x10	/* rcx across an indirect branch */
#define TLS_IND1	0x18	/* rdx across an indirect branch */
#define TLS_SPILL0	0x20	/* scratch registers of mangled instructions */
#define TLS_SPILL1	0x28
#define TLS_SPILL2	0x30
#define TLS_GSBASE	0x38	/* the application's gs base */
#define TLS_TARGET	0x40	/* cache address to enter */
#define TLS_STACK	0x48	/* top of the runtime stack */
#define TLS_EXIT	0x50	/* index of the exit that left the cache */
#define TLS_PENDING	0x58	/* PENDING_*: if set, enter no cache code and make no system call */
#define TLS_REGS	0x60	/* application registers, hardware order; [15] copies TLS_R15 */
#define TLS_FLAGS	0xe0
#define TLS_PP		0xe8	/* record pointer while the thread is in the engine */
#define TLS_IBTARGET	0xf0

#define CHUNK_END_AT	3800	/* ADEPT_CHUNK_END_AT */

/* struct adept_boot */
#define BOOT_REGS	96
#define BOOT_RIP	224
#define BOOT_RFLAGS	232
#define BOOT_FSGSBASE	272
#define BOOT_NATTACHED	288
#define NR_ARCH_PRCTL	158
#define ARCH_SET_GS	0x1001

/* struct tls.pending */
#define PENDING_SIGNAL	1	/* a signal waits to be delivered */
#define PENDING_STOP	2	/* another thread may be stopping the process */

/* SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV: raised by the processor unless a process sends them */
#define ADEPT_SYNC_SIGNALS 5

/* Result of app_syscall() if a signal arrived first and the call did not take place. */
#define SYS_ABORTED	-4095

#ifndef __ASSEMBLER__
#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"
#include "lock.h"

struct frag;
struct group;
struct handlers;

/* A signal that waits for delivery, with the contents of the kernel's frame; see os/signal.c. */
struct sig_pending {
	u32 signo;
	u32 forced;		/* a fault: cannot be blocked or ignored */
	u64 mask;		/* the application's mask at that time */
	u64 err, trapno, cr2;
	u64 xfeatures;		/* extended state components that the kernel saves.. */
	u32 xsize;		/* ..and their size */
	u8 info[128];		/* siginfo_t */
};

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

	u64 before;		/* timestamp before the current system call */
	u64 resume_pc;		/* application pc at which execution continues */
	u16 resume_known;	/* registers that recovery knows at resume_pc */
	u64 fs_base;
	u32 tid;
	u32 slot;		/* in the session's thread table, ~0 = unrecorded */
	struct adept_thread *ring;
	u64 chunk_base;		/* bounds of the chunk being filled */
	u64 chunk_end;
	u64 scratch_chunk;	/* private chunk for records that are not stored, or 0 */
	int discard;		/* the thread is not recorded: it overwrites its chunk */
	int absent;		/* the collector is gone, but may return: scratch chunk in use.. */
	u64 absent_chunks;	/* ..and filled this many times since then */

	/* signals (os/signal.c) */
	struct handlers *handlers;
	struct sig_pending sig;
	u64 sync_blocked;	/* synchronous signals that are blocked in the application's view */
	u64 held;		/* of these, signals that were sent and wait; see os/sigmask.h */
	u8 held_info[ADEPT_SYNC_SIGNALS][128];	/* struct k_siginfo of each */
	u64 app_altstack[3];	/* stack_t of the application */
	u64 sig_stack, sig_stack_size;	/* the engine's alternate stack */

	/* threads (os/thread.c) */
	struct tls *next;	/* all threads of the process; under threads_lock */
	struct tls **pprev;
	u32 gone;		/* set just before the thread exits: the block can be reused */
	u32 parent_serial;	/* of a new thread or process: serial of the creating thread */
	u32 parent_process;	/* of a new process: serial of the creating process */
	u64 created_at;		/* application pc of the clone */
	u64 blocked_mask;	/* of a new thread: signal mask to set when it runs */
	u32 own_process;	/* vfork child: another process in its parent's memory */
	struct adept_attached *attached;	/* it existed before the engine: its state */
	s64 interrupted_call;	/* with @attached: system call to go on with, or -1 */
	u32 clear_handlers;	/* of a new process: CLONE_CLEAR_SIGHAND */
	struct group *group;	/* its process (thread_list.h) */
	u32 stop_state;		/* enum stop_state */
	u32 marked;		/* ring_put_thread_end() has put an end event at pp */
	u32 strict;		/* in seccomp's strict mode (os/seccomp.c) */
};

/* The kernel module and recovery access these fields by ADEPT_GS_*. */
_Static_assert(TLS_R15 == 8 * ADEPT_GS_R15 && TLS_IND0 == 8 * ADEPT_GS_RCX &&
	       TLS_IND1 == 8 * ADEPT_GS_RDX && TLS_SPILL0 == 8 * ADEPT_GS_SPILL &&
	       TLS_SPILL1 == 8 * ADEPT_GS_RSP &&
	       TLS_GSBASE == 8 * ADEPT_GS_GSBASE, "ADEPT_GS_*");
_Static_assert(CHUNK_END_AT == ADEPT_CHUNK_END_AT, "CHUNK_END_AT");
_Static_assert(offsetof(struct adept_boot, regs) == BOOT_REGS, "BOOT_REGS");
_Static_assert(offsetof(struct adept_boot, rip) == BOOT_RIP, "BOOT_RIP");
_Static_assert(offsetof(struct adept_boot, rflags) == BOOT_RFLAGS, "BOOT_RFLAGS");
_Static_assert(offsetof(struct adept_boot, fsgsbase) == BOOT_FSGSBASE, "BOOT_FSGSBASE");
_Static_assert(offsetof(struct adept_boot, nattached) == BOOT_NATTACHED, "BOOT_NATTACHED");
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
