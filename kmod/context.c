// SPDX-License-Identifier: GPL-2.0-only
/* A writer's registers at the store that faulted. */
#include <linux/ktime.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/fsgsbase.h>
#include <asm/msr.h>

#include "adept.h"

/* Faults are taken with the mapping's lock held, so this one must not take another. */
static bool read_gs_words(u64 base, u64 *words)
{
	const void __user *from = u64_to_user_ptr(base);
	unsigned long left;

	if (!access_ok(from, sizeof(u64) * 8))
		return false;
	pagefault_disable();
	left = __copy_from_user_inatomic(words, from, sizeof(u64) * 8);
	pagefault_enable();
	if (left)
		memset(words, 0, sizeof(u64) * 8);
	return !left;
}

void adept_context_take(struct adept_context *ctx)
{
	const struct pt_regs *r = current_pt_regs();

	*ctx = (struct adept_context){
		.clock_ns = ktime_get_ns(),
		.regs = { r->ax, r->cx, r->dx, r->bx, r->sp, r->bp, r->si, r->di, r->r8, r->r9,
			  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
		.rip = r->ip,
		.rflags = r->flags,
		.fs_base = x86_fsbase_read_cpu(),
		.flags = ADEPT_CTX_VALID,
	};
	/* The kernel runs on its own gs base; the user's waits in this register. */
	rdmsrl(MSR_KERNEL_GS_BASE, ctx->gs_base);
	if (read_gs_words(ctx->gs_base, ctx->gs_words))
		ctx->flags |= ADEPT_CTX_GS_WORDS;
}
