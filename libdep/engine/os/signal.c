// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Signals.  One handler of the engine is installed for all of the application's handlers, and
 * always for faults.  It never runs application code: it takes the thread out of the cache
 * (bailout.c), notes the signal in t->sig, blocks all others, and lets the thread continue at
 * gate_resume.  There signal_deliver_all() enters the application's handler through the cache.
 *
 * If the thread is in the engine, the handler only notes or holds the signal and sets t->pending.
 * The engine checks that before it enters the cache or makes a system call.
 */
#include "libdep/engine/translate/code_map.h"
#include "stop_world.h"
#include "late.h"
#include "seccomp.h"
#include "sigaction.h"
#include "sigframe.h"
#include "sigmask.h"
#include "signal.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"
#include "libdep/engine/translate/dispatch.h"
#include "libdep/engine/translate/state_table.h"

#define FLAG_AC 0x40000

#define PF_WRITE	2	/* bit of a page fault's error code: the access was a write */
#define SEGV_ACCERR	2	/* si_code: the mapping's protection forbids the access */

extern char gate_resume[], gate_enter[], gate_enter_end[];
extern char sigmask_sent[];
extern char app_syscall_checked[], app_syscall_insn[], app_syscall_done[], app_syscall_abort[];
extern char gate_undefined[];
extern char rt_copy_in_end[], rt_copy_in_fault[];
void signal_restorer(void);
__attribute__((noreturn)) void sigreturn_with(void *frame);

static struct k_siginfo *info_of(struct tls *t)
{
	return (struct k_siginfo *)t->sig.info;
}

/* ---- arrival of signals ---- */

static void note_signal(struct tls *t, u32 signo, const struct k_siginfo *info,
			struct k_ucontext *uc, int forced)
{
	struct sig_pending *p = &t->sig;

	p->signo = signo;
	p->forced = (u32)forced;
	p->mask = uc->sigmask;
	p->err = uc->err;
	p->trapno = uc->trapno;
	p->cr2 = uc->cr2;
	memcpy(p->info, info, sizeof(p->info));
	memcpy(&p->xfeatures, (u8 *)uc->fpstate + 472, 8);
	memcpy(&p->xsize, (u8 *)uc->fpstate + 480, 4);
	/* Block further signals until this one is delivered; faults must still arrive. */
	uc->sigmask = ~SYNC_SIGNALS;
	t->pending |= PENDING_SIGNAL;
}

static void go_to_gate(struct tls *t, struct k_ucontext *uc)
{
	uc->regs[SC_RIP] = (u64)gate_resume;
	uc->regs[SC_RSP] = t->stack_top;
	uc->regs[SC_EFLAGS] = 0x202;
}

static int in_engine(u64 rip)
{
	return rip - boot.image < boot.image_size;
}

/*
 * Find the fragment and instruction where the thread is.  Indirect jumps between arenas and to the
 * gates are followed, which changes rip in @uc.
 */
static int cache_position(struct k_ucontext *uc, struct state_pos *pos)
{
	u64 *rip = &uc->regs[SC_RIP];

	while (arena_of(*rip)) {
		const u8 *code = (const u8 *)*rip;
		s32 rel;

		if (state_lookup(*rip, pos))
			return 1;
		if (code[0] != 0xff || code[1] != 0x25)
			return 0;
		memcpy(&rel, code + 2, 4);
		*rip = *(u64 *)(code + 6 + rel);
	}
	return 0;
}

/*
 * Take the thread out of the cache, or keep it from entering.  Return: 0 if the thread was in other
 * code of the engine.
 */
static int stop(struct tls *t, struct k_ucontext *uc)
{
	struct state_pos pos;
	u64 rip;

	if (cache_position(uc, &pos)) {
		bail_out(t, &pos, uc);
	} else {
		rip = uc->regs[SC_RIP];
		if (rip < (u64)gate_enter || rip >= (u64)gate_enter_end)
			return 0;
	}
	go_to_gate(t, uc);
	return 1;
}

/*
 * Is the thread in code of the engine in which it cannot receive a signal?  It can at the entry of
 * the cache, in a system call of the application, and when the engine sends a signal again.
 */
static int is_busy(u64 rip)
{
	return in_engine(rip) && rip != (u64)sigmask_sent &&
	       !(rip >= (u64)gate_enter && rip < (u64)gate_enter_end) &&
	       !(rip >= (u64)app_syscall_checked && rip <= (u64)app_syscall_done);
}

static void asynchronous(struct tls *t, u32 signo, const struct k_siginfo *info,
			 struct k_ucontext *uc)
{
	u64 rip;

	if (sigmask_must_hold(t, signo, is_busy(uc->regs[SC_RIP]))) {
		sigmask_hold(t, signo, info);
		/* Another one may have been held since the thread was interrupted. */
		stop(t, uc);
		return;
	}
	note_signal(t, signo, info, uc, 0);
	if (stop(t, uc))
		return;
	rip = uc->regs[SC_RIP];
	if (rip >= (u64)app_syscall_checked && rip <= (u64)app_syscall_insn)
		uc->regs[SC_RIP] = (u64)app_syscall_abort;
}

/*
 * Take the thread out of the cache if a stop is requested or a signal was held back.  A thread in
 * the engine's code stops before it enters the cache.
 */
static void kicked(struct tls *t, struct k_ucontext *uc)
{
	if ((stop_requested(t) || leave_requested(t) || t->pending & PENDING_HELD) && !stop(t, uc))
		t->pending |= PENDING_STOP;
}

/* ---- faults ---- */

static int has_address(u32 signo)
{
	return signo == K_SIGSEGV || signo == K_SIGBUS;
}

/* Whether the fault is a write to a mapped page without write permission. */
static int forbidden_write(u32 signo, const struct k_siginfo *info, const struct k_ucontext *uc)
{
	return signo == K_SIGSEGV && info->code == SEGV_ACCERR && uc->err & PF_WRITE;
}

/*
 * A store has changed the page that its own fragment was translated from.  The int3 after the store
 * makes the thread leave the fragment when the store is complete.
 */
static void stop_after_store(const struct state_pos *pos, u64 rip)
{
	struct x86_insn in;

	if (!pos->frag->dead || x86_decode(&in, (u8 *)rip, 16) <= 0)
		return;
	*(volatile u8 *)(rip + in.len) = 0xcc;
}

/*
 * The native call in a call stub pushes a cache address below the application's return address,
 * which is already on the stack.  If this push faults at the end of the stack, enter the callee
 * without the native call.
 */
static int finish_call(struct tls *t, const struct state_pos *pos, struct k_ucontext *uc)
{
	if (pos->kind != STATE_EXIT_DONE && pos->kind != STATE_AT_RCX)
		return 0;
	bail_out(t, pos, uc);
	go_to_gate(t, uc);
	return 1;
}

/*
 * Perform a value store that faulted because the application has set the AC flag: values in the
 * ring are aligned to 4 bytes only.
 */
static int misaligned_store(struct tls *t, const struct state_pos *pos, struct k_ucontext *uc)
{
	u64 rip = uc->regs[SC_RIP], p = uc->regs[SC_R15];
	u64 regs[16];
	struct x86_insn in;

	if (x86_decode(&in, (u8 *)rip, 16) <= 0 || in.base != X86_R15 || in.f_reg == X86_NONE ||
	    in.opcode != 0x89)
		return 0;
	t->pp = p;
	if (module_ring(t))
		module_find(t);
	if (p + (u64)in.disp + 8 > t->chunk_end && module_ring(t)) {
		/*
		 * The chunk is full.  Leave the cache; the next write by the engine ends the chunk.
		 */
		bail_out(t, pos, uc);
		go_to_gate(t, uc);
		return 1;
	}
	if (p + (u64)in.disp + 8 > t->chunk_end)
		p = uc->regs[SC_R15] = bail_out_at_chunk_end(t, pos, uc);
	regs_from_uc(regs, uc);
	memcpy((void *)(p + (u64)in.disp), &regs[in.f_reg], 8);
	uc->regs[SC_RIP] += in.len;
	return 1;
}

/* Handle a fault that the engine's code caused.  Return: 1 if it was such a fault. */
static int own_fault(struct tls *t, u32 signo, const struct k_siginfo *info,
		     struct k_ucontext *uc, const struct state_pos *pos)
{
	u64 rip = uc->regs[SC_RIP], addr = info->addr;

	if (rip >= (u64)rt_copy_in && rip < (u64)rt_copy_in_end && has_address(signo)) {
		/*
		 * Only for writes: a caller that reads may hold the lock that code_write_fault()
		 * takes.
		 */
		if (!forbidden_write(signo, info, uc) || !code_write_fault(addr))
			uc->regs[SC_RIP] = (u64)rt_copy_in_fault;
		return 1;
	}
	if (!pos) {
		/*
		 * The engine has an error, or adept.ko has no memory for an event that the engine
		 * writes.
		 */
		if (in_engine(rip) && rip != (u64)gate_undefined)
			fatal("signal %u in the engine's code at engine + %lx, fault address %lx",
			      signo, rip - boot.image, addr);
		return 0;
	}
	if (signo == K_SIGBUS && uc->regs[SC_EFLAGS] & FLAG_AC && misaligned_store(t, pos, uc))
		return 1;
	/*
	 * The kernel has no memory for the ring, or the user's limit is reached (kmod/limits.c).  A
	 * record of the cache's code could be discarded here, but the events that the engine itself
	 * writes could not.
	 */
	if (signo == K_SIGBUS && addr - boot.session < layout()->file_size)
		fatal("adept.ko has no memory for the ring at %lx, or a limit is reached", addr);
	if (signo == K_SIGSEGV && ring_guard_hit(t, addr)) {
		uc->regs[SC_R15] = bail_out_at_chunk_end(t, pos, uc);
		return 1;
	}
	if (forbidden_write(signo, info, uc) && code_write_fault(addr)) {
		stop_after_store(pos, rip);
		return 1;
	}
	if (signo == K_SIGSEGV && addr == uc->regs[SC_RSP] - 8)
		return finish_call(t, pos, uc);
	return 0;
}

static void fault(struct tls *t, u32 signo, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct state_pos pos;
	u64 rip = uc->regs[SC_RIP];
	int cached;

	/*
	 * After an int3, rip is the address after it.  Here it is the int3 that stop_after_store()
	 * has written.
	 */
	if (signo == K_SIGTRAP && arena_of(rip - 1) && *(u8 *)(rip - 1) == 0xcc &&
	    state_lookup(rip - 1, &pos) && pos.frag->dead) {
		uc->regs[SC_RIP] = rip - 1;
		bail_out(t, &pos, uc);
		go_to_gate(t, uc);
		return;
	}
	cached = cache_position(uc, &pos);
	if (own_fault(t, signo, info, uc, cached ? &pos : NULL)) {
		/* It may have waited long for the collector, and would go on in the cache. */
		kicked(t, uc);
		return;
	}
	note_signal(t, signo, info, uc, 1);
	if (cached) {
		bail_out(t, &pos, uc);
	} else {
		/* dispatch_trap() jumped to an address that cannot be executed. */
		regs_from_uc(t->regs, uc);
		t->regs[X86_R15] = t->app_r15;
		t->pp = uc->regs[SC_R15];
		t->flags = uc->regs[SC_EFLAGS];
		if (rip != (u64)gate_undefined)
			t->resume_pc = rip;
	}
	if (!has_address(signo) && info->addr == rip)
		info_of(t)->addr = t->resume_pc;
	go_to_gate(t, uc);
}

/* A signal of a thread that is not in the engine yet. */
__attribute__((noinline))
static void enter(u32 signo, const struct k_siginfo *info, struct k_ucontext *uc)
{
	u64 rip = uc->regs[SC_RIP];
	struct tls *t;
	int met_int3;

	if (in_engine(rip)) {
		/* It was sent, and interrupts this handler: another signal came just before. */
		if (info->code > 0)
			fatal("signal %u in a late thread at engine + %lx", signo,
			      rip - boot.image);
		sigmask_hold(late_tls(), signo, info);
		return;
	}
	t = late_enter(signo, info, uc, &met_int3);
	if (!met_int3)
		note_signal(t, signo, info, uc, SIGBIT(signo) & SYNC_SIGNALS && info->code > 0);
	/* The thread unblocks them when it is ready. */
	uc->sigmask = ~0ull;
}

__attribute__((noinline))
static void handle(u32 signo, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct tls *t = tls_self();

	if (is_stop_signal(t, signo, info))
		kicked(t, uc);
	else if (SIGBIT(signo) & SYNC_SIGNALS && info->code > 0)
		fault(t, signo, info, uc);
	else
		asynchronous(t, signo, info, uc);
}

void signal_handler(int signo, struct k_siginfo *info, struct k_ucontext *uc)
{
	/* The kernel does not change the application's AC flag for the handler. */
	__asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~FLAG_AC) : "cc", "memory");
	if (unlikely(late_is_here()))
		enter((u32)signo, info, uc);
	else
		handle((u32)signo, info, uc);
}

/* ---- delivery of signals ---- */

/* Return: the mask before. */
static u64 set_mask(u64 mask)
{
	u64 old = 0;

	mask &= ~SYNC_SIGNALS;
	sys4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)&mask, (u64)&old, 8);
	return old;
}

/* End the process by the default action of @signo. */
static void die_of(struct tls *t, u32 signo)
{
	struct k_sigaction dfl = { 0 };
	u64 mask = ~SIGBIT(signo);

	LOG(ADEPT_LOG_SIGNAL, "signal %u ends the process", signo);
	stop_world(t, signo);
	ring_thread_end(t, signo);
	sys4(__NR_rt_sigaction, signo, (u64)&dfl, 0, 8);
	sys3(__NR_tgkill, (u64)sys0(__NR_getpid), (u64)sys0(__NR_gettid), signo);
	sys4(__NR_rt_sigprocmask, 2, (u64)&mask, 0, 8);
	for (;;)
		sys1(__NR_exit_group, 128 + signo);
}

/* Return: 1: its handler begins; 0: it is ignored. */
static int signal_deliver(struct tls *t)
{
	struct sig_pending *p = &t->sig;
	struct adept_ev_signal ev;
	struct k_sigaction sa;
	u64 mask;
	int ends;

	t->pending &= ~(u64)PENDING_SIGNAL;
	sigaction_begin(t, p->signo, &sa);
	/* The kernel does not apply default actions to the first process of a pid namespace. */
	ends = sigaction_ends_process(p->signo, &sa) && sys0(__NR_getpid) != 1;
	if (sa.handler < 2 && !p->forced && !ends) {
		/* The action was changed after the signal arrived: the signal is ignored now. */
		set_mask(p->mask);
		return 0;
	}
	ev = (struct adept_ev_signal){
		p->signo, info_of(t)->code, t->resume_pc, info_of(t)->addr, rt_timestamp(),
	};
	ring_event(t, ADEPT_EV_SIGNAL, &ev, sizeof(ev));
	LOG(ADEPT_LOG_SIGNAL, "signal %u, code %d, at %lx: handler %lx", p->signo,
	    info_of(t)->code, t->resume_pc, sa.handler);
	if (ends || (p->forced && (sa.handler < 2 || t->sync_blocked & SIGBIT(p->signo))))
		die_of(t, p->signo);
	if (!sigframe_push(t, &sa))
		die_of(t, K_SIGSEGV);
	mask = p->mask | sa.mask;
	if (!(sa.flags & SA_NODEFER))
		mask |= SIGBIT(p->signo);
	t->sync_blocked |= mask & SYNC_SIGNALS;
	set_mask(mask);
	return 1;
}

void signal_sigreturn(struct tls *t)
{
	struct k_frame f;
	u64 mask;

	/*
	 * A signal that has already arrived was noted together with the handler's signal mask, so
	 * deliver it before rt_sigreturn restores the old mask.
	 */
	mask = set_mask(~0ull);
	if (t->pending) {
		set_mask(mask);
		return;
	}
	memset(&f, 0, sizeof(f));
	if (rt_copy_in(&f.uc, (void *)t->regs[X86_RSP], sizeof(f.uc)) != sizeof(f.uc))
		die_of(t, K_SIGSEGV);
	ring_event(t, ADEPT_EV_SIGRETURN, &(u32){ 0 }, 4);
	regs_from_uc(t->regs, &f.uc);
	t->resume_pc = f.uc.regs[SC_RIP];
	LOG(ADEPT_LOG_SIGNAL, "return from a handler to %lx", t->resume_pc);
	t->flags = f.uc.regs[SC_EFLAGS];
	t->sync_blocked = f.uc.sigmask & SYNC_SIGNALS;
	t->app_altstack[0] = f.uc.stack.sp;
	t->app_altstack[1] = f.uc.stack.flags & ~(u64)SS_ONSTACK;
	t->app_altstack[2] = f.uc.stack.size;
	/* Record the context now, because the event of another signal may begin a new chunk. */
	ring_record_context(t, t->resume_pc);
	/*
	 * rt_sigreturn restores the vector state and the signal mask; the engine restores
	 * everything else.
	 */
	f.uc.sigmask &= ~SYNC_SIGNALS;
	f.uc.stack = (struct k_stack){ t->sig_stack, 0, 0, t->sig_stack_size };
	f.uc.regs[SC_RIP] = (u64)gate_resume;
	f.uc.regs[SC_RSP] = t->stack_top;
	f.uc.regs[SC_EFLAGS] = 0x202;
	sigreturn_with(&f.uc);
}

/* ---- alternate stacks, and masks of threads ---- */

s64 signal_sigaltstack(struct tls *t, const u64 a[6])
{
	u64 sp = t->regs[X86_RSP];
	int on = !(t->app_altstack[1] & SS_DISABLE) && !(t->app_altstack[1] & SS_AUTODISARM) &&
		 sp - t->app_altstack[0] < t->app_altstack[2];
	struct k_stack new, old = {
		t->app_altstack[0], (u32)t->app_altstack[1] | (on ? SS_ONSTACK : 0), 0,
		t->app_altstack[2],
	};
	s64 ret = seccomp_check(__NR_sigaltstack, 0, 0, 0, 0);

	if (ret)
		return ret;
	if (a[0]) {
		u32 mode;

		if (rt_copy_in(&new, (void *)a[0], sizeof(new)) != sizeof(new))
			return -E_FAULT;
		if (on)
			return -E_PERM;
		mode = new.flags & ~SS_AUTODISARM;
		if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0)
			return -E_INVAL;
		if (mode == SS_DISABLE)
			new.sp = new.size = 0;
		else if (new.size < 2048)
			return -E_NOMEM;
		t->app_altstack[0] = new.sp;
		t->app_altstack[1] = new.flags & (SS_AUTODISARM | SS_DISABLE);
		t->app_altstack[2] = new.size;
	}
	if (a[1] && rt_copy_in((void *)a[1], &old, sizeof(old)) != sizeof(old))
		return -E_FAULT;
	return 0;
}

u64 signal_mask(void)
{
	u64 mask = 0;

	sys4(__NR_rt_sigprocmask, 0, 0, (u64)&mask, 8);
	return mask;
}

void signal_keep_altstack(struct tls *t)
{
	struct k_stack ss;

	if (sys2(__NR_sigaltstack, 0, (u64)&ss))
		return;
	t->app_altstack[0] = ss.sp;
	t->app_altstack[1] = ss.flags & (SS_AUTODISARM | SS_DISABLE);
	t->app_altstack[2] = ss.size;
}

static void set_altstack(const struct tls *t)
{
	const struct k_stack ss = { t->sig_stack, 0, 0, t->sig_stack_size };

	sys2(__NR_sigaltstack, (u64)&ss, 0);
}

void signal_give_back(struct tls *t)
{
	const struct k_stack ss = {
		t->app_altstack[0], (u32)t->app_altstack[1], 0, t->app_altstack[2],
	};

	sys2(__NR_sigaltstack, (u64)&ss, 0);
	sigmask_release_all(t);
}

void signal_take_again(struct tls *t)
{
	set_altstack(t);
}

void signal_thread_init(struct tls *t)
{
	u64 sync = SYNC_SIGNALS;

	set_altstack(t);
	sys4(__NR_rt_sigprocmask, 1 /* SIG_UNBLOCK */, (u64)&sync, 0, 8);
}

void signal_deliver_all(struct tls *t)
{
	int begun = 0;

	for (;;) {
		sigmask_release(t);
		if (!t->pending)
			break;
		t->pending &= ~(u64)PENDING_STOP;
		if (!(t->pending & PENDING_SIGNAL))
			continue;
		/*
		 * This signal interrupts the handler of the last one at its first instruction.
		 * Record the registers there: this event may begin a new chunk.
		 */
		if (begun)
			ring_record_context(t, t->resume_pc);
		begun = signal_deliver(t);
	}
}
