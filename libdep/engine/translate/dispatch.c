// SPDX-License-Identifier: LGPL-2.1-or-later
#include "translate.h"
#include "dispatch.h"
#include "code_map.h"
#include "libdep/engine/base/chaos.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"
#include "libdep/engine/record/triggers.h"
#include "libdep/engine/hooks/hooks.h"

extern u8 gate_undefined[];

static struct dispatch_handlers handlers;

/*
 * TSC ticks, about a millisecond.  A longer time is not counted as translation, since it includes
 * waiting or preemption.
 */
#define TOO_LONG	(1u << 21)

void dispatch_init(const struct dispatch_handlers *h)
{
	handlers = *h;
}

/* How often the chaos modes act: once in this many entries of the dispatcher. */
#define FLUSH_PAGE	32u
#define FLUSH_ALL	4096u
#define STOP		16u
/* The code cache cannot reuse memory, so there are no more flushes of pages than this. */
#define FLUSHES		4096u
#define COST_OF_ALL	64u	/* pages that a flush of all fragments counts as */

/* With ADEPT_S_CHAOS_FLUSH, remove the fragments of the page of @pc, or all fragments. */
static void flush_at_random(u64 pc)
{
	u64 page = pc & -(u64)ADEPT_PAGE;
	static u32 flushes;

	if (flushes >= FLUSHES)
		return;
	if (chaos_strikes(ADEPT_S_CHAOS_FLUSH, FLUSH_ALL)) {
		flushes += COST_OF_ALL;
		frag_kill_range(0, ~0ull);
	} else if (chaos_strikes(ADEPT_S_CHAOS_FLUSH, FLUSH_PAGE)) {
		flushes++;
		frag_kill_range(page, page + ADEPT_PAGE);
	}
}

/* Whether the thread shall come to a safe point before it enters the code cache. */
static int must_resume(const struct tls *t)
{
	return unlikely(t->pending) || chaos_strikes(ADEPT_S_CHAOS_STOP, STOP);
}

/* Take frag_lock, and start to measure the time until end(). */
static u64 begin(u64 pc)
{
	lock(&frag_lock);
	flush_at_random(pc);
	return __builtin_ia32_rdtsc();
}

static void end(u64 since)
{
	u64 took = __builtin_ia32_rdtsc() - since;

	if (took < TOO_LONG)
		proc_slot()->translate_tsc += took;
	unlock(&frag_lock);
}

struct exit *dispatch_exit_taken(const struct tls *t)
{
	return heap_at((u32)t->exit);
}

u8 *dispatch_to(struct tls *t, u64 pc, u16 known)
{
	struct frag *f;
	u64 since;

	t->resume_pc = pc;
	t->resume_known = known;
	if (must_resume(t))
		return dispatch_resume(t);
	since = begin(pc);
	f = frag_get(pc, known, 0);
	end(since);
	return frag_entry(f);
}

/*
 * Called at the entry of a hooked function: add the return address, which is at @sp, as return
 * site.
 */
static void add_return_site(u64 sp)
{
	u64 ret;

	if (rt_copy_in(&ret, (void *)sp, 8) == 8)
		frag_make_return_site(ret);
}

u8 *dispatch_exit(struct tls *t)
{
	struct exit *x = dispatch_exit_taken(t);
	struct frag *f;
	u64 since;

	t->resume_pc = x->target;
	t->resume_known = x->mask;
	if (must_resume(t))
		return dispatch_resume(t);
	since = begin(x->target);
	if (x->kind == X_SITE || (x->kind == X_WATCH && hook_at(x->target)))
		add_return_site(t->regs[X86_RSP]);
	if (x->kind == X_WATCH)
		frag_kill_at(triggers_meet(t, x->target));
	f = frag_get(x->target, x->mask, x->call != CALL_NONE);
	if (x->kind != X_SITE && x->kind != X_WATCH)
		exit_link(x, x->call == CALL_BY_STUB ? call_stub_direct(x) : f);
	end(since);
	return frag_entry(f) + (x->kind == X_SITE || x->kind == X_WATCH ? f->check : 0);
}

/* Build a landing stub for further indirect branches to the same target, and enter the target. */
static u8 *miss(struct tls *t, int is_return)
{
	u64 pc = t->ib_target;
	struct frag *f;
	u64 since;

	t->resume_pc = pc;
	t->resume_known = X86_BIT(X86_RSP);
	if (must_resume(t))
		return dispatch_resume(t);
	since = begin(pc);
	if (!chaos_is(ADEPT_S_CHAOS_MISS))
		landing_get(pc, is_return);
	f = frag_get(pc, X86_BIT(X86_RSP), 0);
	end(since);
	return frag_entry(f);
}

u8 *dispatch_miss(struct tls *t)
{
	return miss(t, 0);
}

u8 *dispatch_miss_return(struct tls *t)
{
	return miss(t, 1);
}

u8 *dispatch_syscall(struct tls *t)
{
	return handlers.syscall(t);
}

static u8 *write_gs_base(struct tls *t, const struct x86_insn *in, u64 next)
{
	u64 v = t->regs[in->f_rm];

	if (in->opsize == 4)
		v = (u32)v;
	/*
	 * Record the event before the change: if the event begins a new chunk, the header of this
	 * chunk must have the old gs base.
	 */
	ring_event(t, ADEPT_EV_GSBASE, &v, 8);
	t->app_gs_base = v;
	ring_record_context(t, next);
	return dispatch_to(t, next, KNOWN_ALL);
}

/*
 * Whether code at @pc can be translated now, though it could not when the trap fragment there was
 * built, which only raises the fault.  The engine is not notified if a mapping becomes executable
 * that was not before.  If the code can be translated, kill the trap fragment.
 */
static int has_come(u64 pc)
{
	struct x86_insn in;
	u8 raw[16], unwatchable = 0;
	size_t got;
	int come;

	lock(&frag_lock);
	got = code_fetch(pc, raw, 15, &unwatchable);
	come = x86_decode(&in, raw, (unsigned int)got) > 0 && mangle_supported(&in) &&
	       !(in.attr & X86_A_WRGSBASE);
	if (come)
		frag_kill_range(pc, pc + 1);
	unlock(&frag_lock);
	return come;
}

/*
 * The code at x->target cannot be translated.  If it is not mapped or not executable, a native jump
 * to it raises the right signal.  If it is not a valid instruction, raise SIGILL.  Other cases are
 * limits of the engine.
 */
u8 *dispatch_trap(struct tls *t)
{
	struct exit *x = dispatch_exit_taken(t);
	u8 raw[16];
	size_t got = rt_copy_in(raw, (void *)x->target, 15);
	struct x86_insn in;

	t->resume_pc = x->target;
	t->resume_known = KNOWN_ALL;
	if (has_come(x->target)) {
		ring_record_context(t, x->target);
		return dispatch_to(t, x->target, KNOWN_ALL);
	}
	switch (x86_decode(&in, raw, (unsigned int)got)) {
	case -1:
		/*
		 * Jump to the address: the processor raises the fault when it fetches the
		 * instruction.
		 */
		return (u8 *)x->target;
	case 0:
		return gate_undefined;
	default:
		if (in.attr & X86_A_WRGSBASE)
			return write_gs_base(t, &in, x->target + in.len);
		/*
		 * A known limit: the instruction cannot be rewritten without gs, r15 or rip
		 * (mangle.c).
		 */
		if (!mangle_supported(&in))
			fatal("instruction at %lx (opcode %x, map %u) is not supported",
			      x->target, in.opcode, in.map);
		return (u8 *)x->target;
	}
}

u8 *dispatch_resume(struct tls *t)
{
	handlers.deliver(t);
	safepoint_poll(t);
	if (unlikely(leave_requested(t)))
		return handlers.leave(t);
	t->resume_known = KNOWN_ALL;
	ring_record_context(t, t->resume_pc);
	return dispatch_to(t, t->resume_pc, t->resume_known);
}
