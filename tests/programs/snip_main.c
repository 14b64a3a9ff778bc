// SPDX-License-Identifier: GPL-2.0-or-later
/* Run every snippet of the program with several register sets and print its hash. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#include "common.h"

struct snippet {
	void *code;
	const char *name;
};

struct {
	uint64_t r[16], flags;
} cpu;

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

extern struct snippet __start_snippets[], __stop_snippets[];
extern char snippet_need[] __attribute__((weak));	/* 1: AVX2, 2: AVX-512 */
void snippet_setup(void *arena) __attribute__((weak));
void snippet_run(void *code);

#define STACK_ABOVE	256
static uint8_t arena[4096] __attribute__((aligned(4096)));
static uint8_t stack[8192] __attribute__((aligned(4096)));

static int supported(void)
{
	__builtin_cpu_init();
	if (!snippet_need)
		return 1;
	if (snippet_need[0] == 1)
		return __builtin_cpu_supports("avx2");
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

/* Whether the kernel has 32-bit system calls (snip_branch) and FSGSBASE (snip_gs). */
int int80_works, fsgsbase_works;
static sigjmp_buf no_int80;

static void caught(int sig)
{
	(void)sig;
	siglongjmp(no_int80, 1);
}

static void probe_int80(void)
{
	struct sigaction sa = { .sa_handler = caught }, old;

	sigaction(SIGSEGV, &sa, &old);
	if (!sigsetjmp(no_int80, 1)) {
		/* getpid */
		__asm__ volatile("int $0x80" : : "a"(20) : "memory");
		int80_works = 1;
	}
	sigaction(SIGSEGV, &old, NULL);
}

static void prepare(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(arena); i += 8) {
		uint64_t v = rnd();

		memcpy(arena + i, &v, 8);
	}
	memset(stack, 0x5a, sizeof(stack));
	for (i = 0; i < 16; i++)
		cpu.r[i] = (uint64_t)(uintptr_t)arena + 1024 + rnd() % 256 * 8;
	cpu.r[RAX] = rnd();
	cpu.r[RDX] = rnd();
	cpu.r[R9] = rnd();
	cpu.r[R11] = rnd();
	cpu.r[RCX] = rnd() % 8;
	cpu.r[RSP] = (uint64_t)(uintptr_t)stack + sizeof(stack) - STACK_ABOVE;
	cpu.flags = 0x202 | (rnd() & 0x8d5);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 12, i;
	struct snippet *s;

	if (!supported()) {
		printf("skipped: the processor lacks what this needs\n");
		return 0;
	}
	probe_int80();
	fsgsbase_works = !!(getauxval(AT_HWCAP2) & 2);
	if (snippet_setup)
		snippet_setup(arena + 576);
	for (s = __start_snippets; s < __stop_snippets; s++) {
		sum = 1;
		for (i = 0; i < rounds; i++) {
			prepare();
			snippet_run(s->code);
			mix_bytes(&cpu, sizeof(cpu));
			mix_bytes(arena, sizeof(arena));
			mix_bytes(stack + sizeof(stack) - STACK_ABOVE, STACK_ABOVE);
		}
		finish(s->name);
	}
	return 0;
}
