// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Late threads: at the attach they are in system calls that must not be interrupted.  If the
 * injector dies while it moves threads, the others are late, too.
 *
 *	injector			late thread, natively
 *					in a system call
 *	int3 behind it
 *	starts the engine
 *					the call returns: int3; or a signal arrives
 *					signal_handler(): late_enter()
 *					thread_attached, as for other threads
 *
 * The thread executes no instruction of the program between.
 */
#include "late.h"
#include "sigframe.h"
#include "libdep/engine/translate/code_map.h"

#define ARCH_GET_FS	0x1003
#define ARCH_GET_GS	0x1004

void thread_attached(void);

static u32 nlate;	/* number of threads that still run natively */

void late_expect_none(void)
{
	nlate = 0;
}

void late_expect(const struct adept_attached *a)
{
	nlate += !!a->late;
}

static u64 base_of(u64 which)
{
	u64 base = 0;

	sys2(__NR_arch_prctl, which, (u64)&base);
	return base;
}

/* The gs base of a thread in the engine is the address of its tls. */
static int is_tls(u64 gs)
{
	return gs - boot.heap < boot.heap_size && !(gs & 15) && *(u64 *)gs == gs;
}

int late_is_here(void)
{
	return __atomic_load_n(&nlate, __ATOMIC_RELAXED) && !is_tls(base_of(ARCH_GET_GS));
}

static struct adept_attached *find(void)
{
	struct adept_attached *a = (struct adept_attached *)boot.attached;
	u32 tid = (u32)sys0(__NR_gettid);

	for (u32 i = 0; i < boot.nattached; i++)
		if (a[i].late && a[i].tid == tid)
			return &a[i];
	fatal("a signal in thread %u, which is not known", tid);
}

static int is_caught(u64 pc)
{
	for (u64 i = 0; i < boot.ncaught && i < ADEPT_CAUGHT_PCS; i++)
		if (boot.caught[i].pc == pc)
			return 1;
	return 0;
}

struct tls *late_tls(void)
{
	return (struct tls *)find()->tls;
}

struct tls *late_enter(u32 signo, const struct k_siginfo *info, struct k_ucontext *uc,
		       int *met_int3)
{
	struct adept_attached *a = find();

	regs_from_uc(a->regs, uc);
	a->rip = uc->regs[SC_RIP];
	a->rflags = uc->regs[SC_EFLAGS];
	a->fs_base = base_of(ARCH_GET_FS);
	a->gs_base = base_of(ARCH_GET_GS);
	a->mask = uc->sigmask;
	a->call = -1;
	*met_int3 = signo == K_SIGTRAP && info->code > 0 && is_caught(a->rip - 1);
	if (*met_int3)
		a->rip--;
	/* The signal has come when the call had returned, before the int3; or it has ended it. */
	else if (!is_caught(a->rip))
		a->returned = -1;
	uc->regs[SC_RIP] = (u64)thread_attached;
	uc->regs[SC_RDI] = a->tls;
	uc->regs[SC_EFLAGS] = 0x202;
	return (struct tls *)a->tls;
}

void late_entered(struct tls *t)
{
	if (!t->attached->late)
		return;
	t->attached->late = 0;
	if (!__atomic_sub_fetch(&nlate, 1, __ATOMIC_SEQ_CST))
		code_restore_caught();
}

void late_forked(void)
{
	if (!nlate)
		return;
	nlate = 0;
	code_restore_caught();
}
