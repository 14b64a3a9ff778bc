// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  String instructions that are interrupted, N times (default 2000): each
 * meets a page that it may not write to, the handler lets it, and it goes on.  What is
 * recorded in between has all lengths, so that chunks end at all of it.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "common.h"

#define PAGE	4096
#define PAGES	4

static char *area;
static volatile unsigned long faults;

static void allow(int sig, siginfo_t *info, void *uc)
{
	char *page = (char *)((uintptr_t)info->si_addr & -(uintptr_t)PAGE);

	(void)sig;
	(void)uc;
	CHECK(page > area && page < area + PAGES * PAGE);
	CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	faults++;
}

static void copy(char *to, const char *from, size_t n)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void copy_down(char *to, const char *from, size_t n)
{
	to += n - 1;
	from += n - 1;
	asm volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(from), "+c"(n) : : "memory", "cc");
}

static void fill(char *to, int with, size_t n)
{
	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(with) : "memory");
}

/* A record or two for each round. */
static void pad(unsigned int rounds)
{
	static volatile unsigned long at[64];

	while (rounds--)
		at[rounds & 63]++;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 2000, i;
	struct sigaction sa = { .sa_sigaction = allow, .sa_flags = SA_SIGINFO };
	static char from[PAGES * PAGE];

	for (i = 0; i < sizeof(from); i++)
		from[i] = rnd();
	area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED && !sigaction(SIGSEGV, &sa, NULL));
	for (i = 0; i < rounds; i++) {
		size_t n = PAGE + 1 + rnd() % PAGE, at = PAGE - rnd() % 100 - 1;

		CHECK(!mprotect(area + PAGE, (PAGES - 1) * PAGE, PROT_READ));
		pad(rnd() % 64);
		switch (i % 3) {
		case 0:
			copy(area + at, from + at, n);
			CHECK(!memcmp(area + at, from + at, n));
			break;
		case 1:
			copy_down(area + at, from + at + 1, n);
			CHECK(!memcmp(area + at, from + at + 1, n));
			break;
		default:
			fill(area + at, (int)i, n);
			CHECK(area[at] == (char)i && !memcmp(area + at, area + at + 1, n - 1));
		}
	}
	CHECK(faults >= rounds);
	mix(faults);
	return finish("signals_rep");
}
