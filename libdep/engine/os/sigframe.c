// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sigframe.h"
#include "libdep/engine/base/runtime.h"
#include "libdep/x86/decode.h"

static const u8 sc_of[16] = {
	SC_RAX, SC_RCX, SC_RDX, SC_RBX, SC_RSP, SC_RBP, SC_RSI, SC_RDI,
	SC_R8, SC_R9, SC_R10, SC_R11, SC_R12, SC_R13, SC_R14, SC_R15,
};

void regs_from_uc(u64 regs[16], const struct k_ucontext *uc)
{
	for (int i = 0; i < 16; i++)
		regs[i] = uc->regs[sc_of[i]];
}

void regs_to_uc(struct k_ucontext *uc, const u64 regs[16])
{
	for (int i = 0; i < 16; i++)
		uc->regs[sc_of[i]] = regs[i];
}

#define FP_SW_OFFSET	464
#define FP_MAGIC1	0x46505853u
#define FP_MAGIC2	0x46505845u

struct fp_sw {
	u32 magic1, extended_size;
	u64 xfeatures;
	u32 xstate_size, pad[7];
};

/*
 * Write the vector state as the kernel would.  The registers still have the application's values,
 * because the engine's code does not use vector registers.
 */
static void save_xstate(u8 *area, const struct sig_pending *p)
{
	struct fp_sw sw = {
		.magic1 = FP_MAGIC1, .extended_size = p->xsize + 4,
		.xfeatures = p->xfeatures, .xstate_size = p->xsize,
	};
	u32 magic2 = FP_MAGIC2;

	memset(area, 0, p->xsize);
	__asm__ volatile("xsave64 (%0)" : : "r"(area), "a"((u32)p->xfeatures),
			 "d"((u32)(p->xfeatures >> 32)) : "memory");
	memcpy(area + FP_SW_OFFSET, &sw, sizeof(sw));
	memcpy(area + p->xsize, &magic2, 4);
}

static int on_altstack(const struct tls *t, u64 sp)
{
	return !(t->app_altstack[1] & SS_DISABLE) && sp - t->app_altstack[0] < t->app_altstack[2];
}

int sigframe_push(struct tls *t, const struct k_sigaction *sa)
{
	const struct sig_pending *p = &t->sig;
	u8 raw[16384] __attribute__((aligned(64)));
	struct k_frame f;
	u64 sp = t->regs[X86_RSP] - 128, fp;
	int alt = sa->flags & SA_ONSTACK && !(t->app_altstack[1] & SS_DISABLE) &&
		  !on_altstack(t, t->regs[X86_RSP]);

	/* The buffer suffices for all current processors: with AMX, the state takes 11 KiB. */
	if (p->xsize + 4u > sizeof(raw))
		fatal("vector state of %u bytes is too large for a signal frame", p->xsize);
	if (alt)
		sp = t->app_altstack[0] + t->app_altstack[2];
	fp = (sp - (p->xsize + 4)) & ~63ull;
	sp = ((fp - sizeof(f)) & ~15ull) - 8;
	if (on_altstack(t, t->regs[X86_RSP]) || alt)
		if (sp < t->app_altstack[0])
			return 0;

	memset(&f, 0, sizeof(f));
	f.restorer = sa->restorer;
	f.uc.flags = 7;		/* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	f.uc.stack.sp = t->app_altstack[0];
	f.uc.stack.flags = (u32)t->app_altstack[1];
	if (on_altstack(t, t->regs[X86_RSP]))
		f.uc.stack.flags |= SS_ONSTACK;
	f.uc.stack.size = t->app_altstack[2];
	regs_to_uc(&f.uc, t->regs);
	f.uc.regs[SC_RIP] = t->resume_pc;
	f.uc.regs[SC_EFLAGS] = t->flags;
	f.uc.cs = 0x33;
	f.uc.ss = 0x2b;
	f.uc.err = p->err;
	f.uc.trapno = p->trapno;
	f.uc.cr2 = p->cr2;
	f.uc.fpstate = fp;
	f.uc.sigmask = p->mask | t->sync_blocked;
	memcpy(&f.info, p->info, sizeof(f.info));
	save_xstate(raw, p);
	/* rt_copy_in() stops at a fault, also of the destination. */
	if (rt_copy_in((void *)fp, raw, p->xsize + 4) != p->xsize + 4 ||
	    rt_copy_in((void *)sp, &f, sizeof(f)) != sizeof(f))
		return 0;
	if (t->app_altstack[1] & SS_AUTODISARM) {
		t->app_altstack[0] = t->app_altstack[2] = 0;
		t->app_altstack[1] = SS_DISABLE;
	}
	t->regs[X86_RAX] = 0;
	t->regs[X86_RDI] = p->signo;
	t->regs[X86_RSI] = sp + offsetof(struct k_frame, info);
	t->regs[X86_RDX] = sp + offsetof(struct k_frame, uc);
	t->regs[X86_RSP] = sp;
	t->flags &= ~(u64)(0x400 | 0x100 | 0x10000);	/* DF, TF, RF */
	t->resume_pc = sa->handler;
	return 1;
}
