// SPDX-License-Identifier: GPL-2.0-only
/* Read the registers of a writer at its store that faulted. */
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/fsgsbase.h>
#include <asm/msr.h>

#include "adept.h"

#define GS_WORDS_SIZE	sizeof_field(struct adept_context, gs_words)

/*
 * Copy the words at gs base @base, without page faults, since the caller holds the mapping's lock.
 * Return: false if the words are not in memory.
 */
static bool read_gs_words(u64 base, u64 *words)
{
	const void __user *from = u64_to_user_ptr(base);
	unsigned long left;

	if (!access_ok(from, GS_WORDS_SIZE))
		return false;
	pagefault_disable();
	left = __copy_from_user_inatomic(words, from, GS_WORDS_SIZE);
	pagefault_enable();
	if (left)
		memset(words, 0, GS_WORDS_SIZE);
	return !left;
}

static u64 gs_base(void)
{
	u64 base;

	/* In the kernel, swapgs has moved the user's gs base to this register. */
	rdmsrl(MSR_KERNEL_GS_BASE, base);
	return base;
}

void adept_context_fault_in(void)
{
	fault_in_readable(u64_to_user_ptr(gs_base()), GS_WORDS_SIZE);
}

void adept_context_take(struct adept_context *ctx)
{
	const struct pt_regs *r = current_pt_regs();

	memset(ctx, 0, sizeof(*ctx));
	ctx->clock_ns = ktime_get_ns();
	ctx->regs[0] = r->ax;
	ctx->regs[1] = r->cx;
	ctx->regs[2] = r->dx;
	ctx->regs[3] = r->bx;
	ctx->regs[4] = r->sp;
	ctx->regs[5] = r->bp;
	ctx->regs[6] = r->si;
	ctx->regs[7] = r->di;
	ctx->regs[8] = r->r8;
	ctx->regs[9] = r->r9;
	ctx->regs[10] = r->r10;
	ctx->regs[11] = r->r11;
	ctx->regs[12] = r->r12;
	ctx->regs[13] = r->r13;
	ctx->regs[14] = r->r14;
	ctx->regs[15] = r->r15;
	ctx->rip = r->ip;
	ctx->rflags = r->flags;
	ctx->fs_base = x86_fsbase_read_cpu();
	ctx->flags = ADEPT_CTX_VALID;
	ctx->gs_base = gs_base();
	if (read_gs_words(ctx->gs_base, ctx->gs_words))
		ctx->flags |= ADEPT_CTX_GS_WORDS;
}
