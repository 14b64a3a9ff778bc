// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: exact.  Faults with exact si_addr and rip; the handler fixes up and resumes. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "common.h"

static struct {
	int sig, code;
	uint64_t addr, rip;
	int len;
} want;
static int hits;
static char *page;

/* Marks where an instruction stands, so that the handler's rip can be compared. */
#define FAULT(signo, sicode, at, length, insn, ...)				\
	do {									\
		uint64_t pc_;							\
		int before_ = hits;						\
		want.sig = signo;						\
		want.code = sicode;						\
		want.len = length;						\
		want.addr = (uint64_t)(at);					\
		asm volatile("lea 1f(%%rip), %0\n\tmov %0, %1\n1:\t" insn	\
			     : "=&a"(pc_), "=m"(want.rip)			\
			     : __VA_ARGS__					\
			     : "rcx", "rdx", "cc", "memory");			\
		CHECK(hits == before_ + 1);					\
	} while (0)

static void handler(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *uc = arg;
	greg_t *r = uc->uc_mcontext.gregs;
	uint64_t rip = r[REG_RIP];

	CHECK(sig == want.sig && si->si_signo == sig && si->si_code == want.code);
	CHECK(rip == want.rip + (sig == SIGTRAP ? want.len : 0));
	if (sig == SIGSEGV)
		CHECK((uint64_t)si->si_addr == want.addr);
	else if (sig != SIGTRAP)
		CHECK((uint64_t)si->si_addr == rip);
	if (sig != SIGTRAP)
		r[REG_RIP] += want.len;
	mix(sig);
	mix(rip - want.rip);
	hits++;
}

static void faults(void)
{
	char *bad = page + 4096;

	FAULT(SIGSEGV, SEGV_ACCERR, bad + 8, 3, "mov 8(%2), %%ecx", "b"(bad));
	FAULT(SIGSEGV, SEGV_ACCERR, bad, 3, "mov %%r15, (%2)", "b"(bad));
	FAULT(SIGSEGV, SEGV_ACCERR, bad, 4, "mov -4(%2), %%rdx", "b"(bad));
	FAULT(SIGSEGV, SEGV_MAPERR, 16, 3, "addl $1, (%2)", "b"(16l));
	FAULT(SIGSEGV, SI_KERNEL, 0, 2, "mov (%2), %%ecx", "b"(0x8000000000000000));
	FAULT(SIGFPE, FPE_INTDIV, 0, 2, "div %%ebx", "b"(0l));
	FAULT(SIGILL, ILL_ILLOPN, 0, 2, "ud2", "b"(0l));
	FAULT(SIGTRAP, SI_KERNEL, 0, 1, "int3", "b"(0l));
	FAULT(SIGSEGV, SI_KERNEL, 0, 1, "hlt", "b"(0l));
}

/* rep movs that faults half way: the registers tell how far it came. */
static uint64_t partial(void)
{
	register char *from = page + 4096 - 100;
	uint64_t left = 200, at;
	char to[256];
	char *d = to;

	want.sig = SIGSEGV;
	want.code = SEGV_ACCERR;
	want.addr = (uint64_t)(page + 4096);
	want.len = 2;
	asm volatile("lea 1f(%%rip), %0\n\tmov %0, %1\n1:\trep movsb"
		     : "=&a"(at), "=m"(want.rip), "+S"(from), "+D"(d), "+c"(left)
		     :
		     : "memory");
	CHECK(left == 100 && from == page + 4096 && d == to + 100);
	mix_bytes(to, 100);
	return left;
}

int main(void)
{
	static const int signals[] = { SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGBUS };
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	unsigned int i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_NONE));
	memset(page, 0x37, 4096);
	for (i = 0; i < 20; i++) {
		faults();
		mix(partial());
	}
	return finish("signals_sync");
}
