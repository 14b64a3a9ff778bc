// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  A storm of SIGALRM in the middle of loops, calls and rep movs. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

static volatile unsigned long alarms, work;

static void handler(int sig)
{
	unsigned char a[64], b[64];
	int i;

	(void)sig;
	for (i = 0; i < 64; i++)
		a[i] = i * alarms;
	memcpy(b, a, sizeof(a));
	work += b[alarms & 63];
	alarms++;
}

static uint64_t fib(int n)
{
	return n < 2 ? (uint64_t)n : fib(n - 1) + fib(n - 2);
}

static double floats(int n)
{
	double d = 1;

	while (n--)
		d = d * 1.0000001 + 1e-9;
	return d;
}

static void copy(char *to, const char *from, size_t n)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* All registers hold something that the next lap checks. */
static uint64_t registers(uint64_t n)
{
	uint64_t a = 1, b = 2;

	asm volatile("mov $3, %%r8\n\tmov $5, %%r9\n\tmov $7, %%r10\n\tmov $11, %%r11\n\t"
		     "mov $13, %%r12\n\tmov $17, %%r13\n\tmov $19, %%r14\n\tmov $23, %%r15\n"
		     "1:\tadd %%r8, %0\n\tadc %%r9, %1\n\tadc %%r10, %0\n\tadd %%r11, %1\n\t"
		     "adc %%r12, %0\n\tadc %%r13, %1\n\tadd %%r14, %0\n\tadc %%r15, %1\n\t"
		     "mov %0, -8(%%rsp)\n\tadd -8(%%rsp), %1\n\trol $7, %0\n\tdec %2\n\tjnz 1b"
		     : "+a"(a), "+b"(b), "+c"(n)
		     :
		     : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
	return a ^ b;
}

static double since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - from->tv_sec + (now.tv_nsec - from->tv_nsec) * 1e-9;
}

int main(void)
{
	struct itimerval it = { { 0, 100 }, { 0, 100 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	static char from[100000], to[100000];
	uint64_t first[4] = { 0 }, got[4];
	struct timespec start;
	unsigned int i, lap;

	for (i = 0; i < sizeof(from); i++)
		from[i] = rnd();
	sigaction(SIGALRM, &sa, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	setitimer(ITIMER_REAL, &it, NULL);
	for (lap = 0; lap < 40 || (alarms < 200 && since(&start) < 20); lap++) {
		memset(to, 0, sizeof(to));
		copy(to, from, sizeof(from));
		CHECK(!memcmp(to, from, sizeof(from)));
		got[0] = fib(18);
		got[1] = registers(20000);
		got[2] = floats(20000) * 1e12;
		got[3] = getppid() != 0;
		if (lap)
			CHECK(!memcmp(first, got, sizeof(got)));
		memcpy(first, got, sizeof(got));
	}
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
	CHECK(alarms > 10);
	mix_bytes(first, sizeof(first));
	return finish("signals_timer");
}
