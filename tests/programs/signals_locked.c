// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  A storm of SIGALRM in locked and string instructions around which r15 is in
 * use: the engine keeps that elsewhere, and has a store to make after each of them.
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

static volatile unsigned long alarms;

static void handler(int sig)
{
	(void)sig;
	alarms++;
}

/* What memory and registers come to is the same each time. */
static void lap(uint64_t n, uint64_t place[16])
{
	uint64_t a = 1, b = 2, d = 4;

	memset(place, 0, 16 * sizeof(*place));
	asm volatile("mov %%rsi, %%r14\n\tmov %%r14, %%r15\n\t"
		     "mov $3, %%r8\n\tmov $5, %%r9\n\tmov $7, %%r10\n\tmov $11, %%r11\n\t"
		     "mov $13, %%r12\n\tmov $17, %%r13\n\t"
		     "1:\tlock xaddq %0, (%%r15)\n\tadd %%r8, %0\n\t"
		     "lock incq 8(%%r15)\n\tadd 8(%%r15), %1\n\t"
		     "mov %%r15, %%rsi\n\tlea 64(%%r15), %%rdi\n\tmovsq\n\tadd 64(%%r15), %3\n\t"
		     "mov 16(%%r15), %0\n\tlock cmpxchgq %%r10, 16(%%r15)\n\tadd (%%r15), %0\n\t"
		     "mov $9, %%r15\n\tlock xaddq %%r15, 24(%%r14)\n\tadd %%r15, %%r9\n\t"
		     "xchg %%r15, 32(%%r14)\n\tadd %%r15, %%r9\n\tmov %%r14, %%r15\n\t"
		     "lock xaddq %%r12, 40(%%r15)\n\trol $7, %1\n\tadd %%r13, %1\n\t"
		     "dec %2\n\tjnz 1b\n\t"
		     "mov %0, 72(%%r15)\n\tmov %1, 80(%%r15)\n\tmov %3, 88(%%r15)\n\t"
		     "mov %%r9, 96(%%r15)\n\tmov %%r11, 104(%%r15)\n\tmov %%r12, 112(%%r15)"
		     : "+a"(a), "+b"(b), "+c"(n), "+d"(d), "+S"(place)
		     :
		     : "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
		       "memory");
}

static double since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - from->tv_sec + (now.tv_nsec - from->tv_nsec) * 1e-9;
}

int main(void)
{
	struct itimerval it = { { 0, 50 }, { 0, 50 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	uint64_t first[16], got[16];
	struct timespec start;
	unsigned int laps;

	sigaction(SIGALRM, &sa, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	lap(20000, first);
	setitimer(ITIMER_REAL, &it, NULL);
	for (laps = 0; laps < 40 || (alarms < 2000 && since(&start) < 20); laps++) {
		lap(20000, got);
		CHECK(!memcmp(first, got, sizeof(got)));
	}
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
	CHECK(alarms > 100);
	mix_bytes(first, sizeof(first));
	return finish("signals_locked");
}
