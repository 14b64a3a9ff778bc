// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: exact.  Nested signals, alternate stacks, siglongjmp, changed contexts,
 * masks, SA_NODEFER and SA_RESETHAND; all sent by the program itself.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "common.h"

static char alt[32768];
static sigjmp_buf env;
static volatile int depth;	/* raise() may not be thought a leaf */

static void install(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };

	sigemptyset(&sa.sa_mask);
	CHECK(!sigaction(sig, &sa, NULL));
}

static void nested(int sig, siginfo_t *si, void *arg)
{
	mix(sig);
	CHECK(si->si_signo == sig && arg);
	if (sig < SIGRTMIN + 6)
		raise(sig + 1);
	mix(sig);
}

static void again(int sig, siginfo_t *si, void *arg)
{
	(void)si;
	(void)arg;
	mix(++depth);
	if (depth < 5)
		raise(sig);
	mix(depth--);
}

static void on_alt(int sig, siginfo_t *si, void *arg)
{
	char here;

	(void)si;
	(void)arg;
	CHECK(&here >= alt && &here < alt + sizeof(alt));
	mix(sig);
}

static void jump(int sig, siginfo_t *si, void *arg)
{
	(void)si;
	(void)arg;
	siglongjmp(env, sig);
}

/* Send the program elsewhere, with other registers. */
static void alter(int sig, siginfo_t *si, void *arg)
{
	greg_t *r = ((ucontext_t *)arg)->uc_mcontext.gregs;

	(void)sig;
	(void)si;
	mix(r[REG_RBX]);
	mix(r[REG_R15]);
	r[REG_RIP] = r[REG_R14];
	r[REG_RBX] = 0x1234;
	r[REG_R15] = 0x5678;
	r[REG_R11] = 0x9abc;
	r[REG_RAX] += 5;
	r[REG_EFL] |= 1;
}

static void altered(void)
{
	uint64_t b, f, x, y, a;

	asm volatile("mov $77, %%ebx\n\t"
		     "mov $88, %%r15d\n\t"
		     "lea 2f(%%rip), %%r14\n\t"
		     "mov $7, %%eax\n\t"
		     "clc\n\t"
		     "ud2\n\t"
		     "ud2\n"
		     "2:\tsetc %%cl\n\t"
		     "movzbl %%cl, %%ecx\n\t"
		     "mov %%rbx, %%rsi\n\t"
		     "mov %%r15, %%rdi"
		     : "=&S"(b), "=&D"(f), "=&c"(x), "=&a"(a)
		     :
		     : "rbx", "r11", "r14", "r15", "cc", "memory");
	y = a;
	CHECK(b == 0x1234 && f == 0x5678 && x == 1 && y == 12);
}

static void masks(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR1);
	mix(1);
	sigpending(&set);
	CHECK(sigismember(&set, SIGUSR1));
	sigprocmask(SIG_SETMASK, &old, NULL);
	mix(2);
	sigprocmask(SIG_BLOCK, NULL, &set);
	CHECK(!sigismember(&set, SIGUSR1));
}

int main(void)
{
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) }, old;
	struct sigaction sa;
	int sig, i, got;

	CHECK(!sigaltstack(&ss, NULL));
	for (sig = SIGRTMIN; sig < SIGRTMIN + 7; sig++)
		install(sig, nested, 0);
	install(SIGUSR1, again, SA_NODEFER);
	install(SIGUSR2, on_alt, SA_ONSTACK);
	install(SIGHUP, on_alt, SA_ONSTACK | SA_RESETHAND);
	install(SIGTERM, jump, SA_ONSTACK);
	install(SIGILL, alter, 0);
	for (i = 0; i < 20; i++) {
		raise(SIGRTMIN);
		raise(SIGUSR1);
		raise(SIGUSR2);
		got = sigsetjmp(env, 1);
		if (!got)
			raise(SIGTERM);
		mix(got);
		altered();
		masks();
	}
	raise(SIGHUP);
	CHECK(!sigaction(SIGHUP, NULL, &sa) && sa.sa_handler == SIG_DFL);
	CHECK(!sigaltstack(NULL, &old) && old.ss_sp == alt && !(old.ss_flags & SS_ONSTACK));
	return finish("signals_control");
}
