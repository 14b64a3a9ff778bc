/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's signal frame on x86-64 (arch/x86/include/uapi/asm/sigcontext.h,
 * asm-generic/ucontext.h).  A signal handler gets this frame, and rt_sigreturn reads it.
 */
#ifndef ADEPT_ENGINE_OS_SIGFRAME_H
#define ADEPT_ENGINE_OS_SIGFRAME_H

#include "libdep/abi/types.h"

enum sc_reg {
	SC_R8, SC_R9, SC_R10, SC_R11, SC_R12, SC_R13, SC_R14, SC_R15, SC_RDI, SC_RSI, SC_RBP,
	SC_RBX, SC_RDX, SC_RAX, SC_RCX, SC_RSP, SC_RIP, SC_EFLAGS,
};

struct k_stack {
	u64 sp;
	u32 flags, pad;
	u64 size;
};

struct k_ucontext {
	u64 flags;
	u64 link;
	struct k_stack stack;
	u64 regs[18];		/* enum sc_reg */
	u16 cs, gs, fs, ss;
	u64 err, trapno, oldmask, cr2;
	u64 fpstate;
	u64 reserved[8];
	u64 sigmask;
};

struct k_siginfo {
	s32 signo, error, code, pad;
	u64 addr;		/* address of a fault; for other signals pid, uid and more */
	u64 rest[13];
};

struct k_frame {
	u64 restorer;
	struct k_ucontext uc;
	struct k_siginfo info;
};

struct k_sigaction {
	u64 handler, flags, restorer, mask;
};

_Static_assert(sizeof(struct k_ucontext) == 304, "ucontext");
_Static_assert(sizeof(struct k_siginfo) == 128, "siginfo");

#define SS_ONSTACK	1u
#define SS_DISABLE	2u
#define SS_AUTODISARM	(1u << 31)

#define SA_NOCLDSTOP	1ull
#define SA_NOCLDWAIT	2ull
#define SA_SIGINFO	4ull
#define SA_RESTORER	0x04000000ull
#define SA_ONSTACK	0x08000000ull
#define SA_RESTART	0x10000000ull
#define SA_NODEFER	0x40000000ull
#define SA_RESETHAND	0x80000000ull

#define K_SIGILL	4
#define K_SIGTRAP	5
#define K_SIGBUS	7
#define K_SIGFPE	8
#define K_SIGKILL	9
#define K_SIGSEGV	11

#define SIGBIT(n)	(1ull << ((n) - 1))
#define SYNC_SIGNALS	(SIGBIT(K_SIGILL) | SIGBIT(K_SIGTRAP) | SIGBIT(K_SIGBUS) | \
			 SIGBIT(K_SIGFPE) | SIGBIT(K_SIGSEGV))

struct tls;

/*
 * Copy the general registers from or to a signal frame, whose register order is not the hardware's.
 */
void regs_from_uc(u64 regs[16], const struct k_ucontext *uc);
void regs_to_uc(struct k_ucontext *uc, const u64 regs[16]);

/**
 * sigframe_push() - build the signal frame in which handler @sa gets the pending signal t->sig
 *
 * Sets t->regs and t->resume_pc to the beginning of the handler.
 *
 * Return: 0 if the stack has no room.
 */
int sigframe_push(struct tls *t, const struct k_sigaction *sa);

/* Functions of bailout.c. */
struct state_pos;
/** bail_out_regs() - set t->regs to the application's registers at @pos; @uc: the signal frame */
void bail_out_regs(struct tls *t, const struct state_pos *pos, const struct k_ucontext *uc);
/** bail_out() - leave the code cache at @pos: end the record, set t->regs and t->resume_pc */
void bail_out(struct tls *t, const struct state_pos *pos, const struct k_ucontext *uc);
/**
 * bail_out_at_chunk_end() - begin the next chunk after the store at @pos faulted at the chunk's end
 *
 * Return: the new record pointer.
 */
u64 bail_out_at_chunk_end(struct tls *t, const struct state_pos *pos, const struct k_ucontext *uc);

#endif
