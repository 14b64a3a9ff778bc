// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: last_bound. Code that is executed once and then replaced, again and again: code_forever
 * rewrite|map [FILE].
 *
 * A round has 64 functions, which no other round has: written over those before, or in a file that
 * is mapped and unmapped. Meanwhile one thread sleeps, one waits in short calls, and one computes.
 * Each thousandth round is printed. It ends when there is a file FILE; all sums are checked.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTIONS	64
#define SPACE		64	/* bytes of a function */
#define SIZE		(FUNCTIONS * SPACE)

static int over, wakeup[2];
static volatile unsigned long computed;

static void *sleeper(void *arg)
{
	char c;

	return read(wakeup[0], &c, 1) == 1 ? NULL : arg;
}

static void *waiter(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		usleep(1000);
	return NULL;
}

static void *computer(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		computed = computed * 1103515245 + 12345;
	return NULL;
}

/* Functions that return @seed, @seed + 1, ... */
static void generate(unsigned char *to, unsigned int seed)
{
	unsigned int i;

	memset(to, 0xcc, SIZE);
	for (i = 0; i < FUNCTIONS; i++, seed++) {
		to[i * SPACE] = 0xb8;	/* mov eax, seed */
		memcpy(&to[i * SPACE + 1], &seed, sizeof(seed));
		to[i * SPACE + 5] = 0xc3;
	}
}

static unsigned long call_all(const unsigned char *code)
{
	unsigned long sum = 0;
	unsigned int (*function)(void);
	const unsigned char *at;
	unsigned int i;

	for (i = 0; i < FUNCTIONS; i++) {
		at = code + i * SPACE;
		memcpy(&function, &at, sizeof(function));
		sum += function();
	}
	return sum;
}

static unsigned long one_round(int map, int fd, unsigned char *buffer, unsigned int seed)
{
	unsigned long sum;
	void *code;

	generate(buffer, seed);
	if (!map)
		return call_all(buffer);
	if (pwrite(fd, buffer, SIZE, 0) != SIZE)
		exit(1);
	code = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		exit(1);
	sum = call_all(code);
	munmap(code, SIZE);
	return sum;
}

int main(int argc, char **argv)
{
	int map = argc > 1 && !strcmp(argv[1], "map"), fd = -1;
	const char *stop = argc > 2 ? argv[2] : "/";
	unsigned long i, n, seed, want;
	void *(*const work[])(void *) = { sleeper, waiter, computer };
	unsigned char *buffer;
	pthread_t thread[3];

	buffer = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | (map ? 0 : PROT_EXEC),
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map)
		fd = open("code", O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (buffer == MAP_FAILED || pipe(wakeup) || (map && fd < 0))
		return 1;
	for (i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, work[i], NULL))
			return 1;
	for (n = 0; n % 1000 || !n || access(stop, F_OK); n++) {
		seed = n * FUNCTIONS & 0xffffff;
		want = seed * FUNCTIONS + FUNCTIONS * (FUNCTIONS - 1) / 2;
		if (one_round(map, fd, buffer, (unsigned int)seed) != want) {
			printf("round %lu is wrong\n", n);
			return 1;
		}
		if (n % 1000 == 999) {
			printf("%lu\n", n + 1);
			fflush(stdout);
		}
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	if (write(wakeup[1], "", 1) != 1)
		return 1;
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("all sums are good\n");
	return 0;
}
