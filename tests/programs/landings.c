// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  More targets of calls and returns than branch tables begin with: functions
 * written at run time, each called through a pointer and calling another one.  Threads go through
 * them while ever more come, and children of fork come to some that their parent has not been to
 * and the other way round.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

/* Both tables have all their entries before half of these have been called. */
#define FUNCTIONS	40000u
#define THREADS		3
#define FORKS		8
#define CODE_SIZE	(2u << 20)

typedef uint64_t (*function)(uint64_t x);

static uint8_t *code;
static uint32_t start[FUNCTIONS];
static uint32_t shown;	/* functions that threads call */
static uint64_t sums[THREADS];

static uint32_t put(uint32_t at, const void *bytes, uint32_t n)
{
	memcpy(code + at, bytes, n);
	return at + n;
}

static uint32_t put32(uint32_t at, uint32_t v)
{
	return put(at, &v, 4);
}

static uint32_t added(uint32_t i)
{
	return i * 2654435761u >> 1;
}

/* f(x) = (x + added) * 3 ^ i, whose second half another function has */
static void write_code(void)
{
	uint32_t i, at = put(0, "\x48\x8d\x04\x40\xc3", 5);	/* lea rax, [rax+rax*2]; ret */

	for (i = 0; i < FUNCTIONS; i++) {
		/* As many distances as there are functions in compiled programs. */
		at += i * 7 % 32;
		start[i] = at;
		at = put32(put(at, "\x48\x8d\x87", 3), added(i));	/* lea rax, [rdi+added] */
		at = put32(put(at, "\xe8", 1), -(at + 5));		/* call */
		at = put32(put(at, "\x48\x35", 2), i);			/* xor rax, i */
		at = put(at, "\xc3", 1);
	}
	CHECK(at <= CODE_SIZE);
	CHECK(!mprotect(code, CODE_SIZE, PROT_READ | PROT_EXEC));
}

static uint64_t try(uint32_t i, uint64_t x)
{
	function f;
	uint64_t got;
	uint8_t *at = code + start[i];

	memcpy(&f, &at, sizeof(f));
	got = f(x);
	CHECK(got == ((x + added(i)) * 3 ^ i));
	return got;
}

/* Through all of what is shown, each thread in an order of its own. */
static void *worker(void *arg)
{
	uint32_t step = 7919 + 2 * (uint32_t)((uint64_t *)arg - sums), i = 0, k, n;
	uint64_t *total = arg;

	do {
		n = __atomic_load_n(&shown, __ATOMIC_ACQUIRE);
		for (k = 0; k < 2000; k++) {
			i = (i + step) % n;
			try(i, i);
		}
	} while (n < FUNCTIONS);
	for (i = 0; i < n; i++)
		*total += try(i, *total);
	return NULL;
}

/* Every second one of the next functions, the child's or the parent's. */
static void every_second(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i += 2)
		try(i, i + 1);
}

static void fork_at(uint32_t n, uint32_t to)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		every_second(n, to);
		every_second(0, n);
		/* The first one, from few landings to all. */
		if (!n)
			every_second(0, FUNCTIONS);
		_exit(7);
	}
	every_second(n + 1, to);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	every_second(n, to);
}

int main(void)
{
	pthread_t t[THREADS];
	uint32_t i, n = 64;

	code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	write_code();
	/* With one thread and few landings. */
	fork_at(0, n);
	shown = n;
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, worker, &sums[i]));
	for (i = 0; i < FORKS; i++) {
		uint32_t to = i + 1 == FORKS ? FUNCTIONS : n * 2;

		/* What this thread is just coming to; less than all, or they would end. */
		__atomic_store_n(&shown, to - 1, __ATOMIC_RELEASE);
		fork_at(n, to);
		n = to;
	}
	__atomic_store_n(&shown, FUNCTIONS, __ATOMIC_RELEASE);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		mix(sums[i]);
	}
	return finish("landings");
}
