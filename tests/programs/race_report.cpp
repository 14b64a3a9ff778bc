// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * race_report [WORD..]: three races, one of them on an element of an array, one by memset(),
 * one through an inlined function, for the tests of how they are reported.
 *
 * counter, table and heap take one of them away each.  As the first word, wait goes on until it
 * is interrupted, kill ends by a signal, and three with 3.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 10

namespace app {
struct entry {
	int key, hits;
};
struct counter {
	int value;
	void add(int n) { value += n; }
};
}

static app::entry table[8];
static app::counter counter;
static char *heap;
static volatile size_t size = 300;
static int mine;	/* another one each time */
static bool has_counter = true, has_table = true, has_heap = true;

/* What reads comes last: who saw the other's result comes after it. */
static void touch(int n)
{
	for (int i = 0; has_heap && i < ROUNDS; i++)
		memset(heap, n, size);
	for (int i = 0; has_table && i < ROUNDS; i++)
		*(volatile int *)&table[mine].hits = n;
	if (has_counter)
		counter.add(n);
}

__attribute__((noinline)) static void *first(void *)
{
	touch(1);
	return NULL;
}

__attribute__((noinline)) static void *second(void *)
{
	touch(2);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	for (int i = 1; i < argc; i++) {
		has_counter &= strcmp(argv[i], "counter") != 0;
		has_table &= strcmp(argv[i], "table") != 0;
		has_heap &= strcmp(argv[i], "heap") != 0;
	}
	mine = getpid() % 8;
	heap = static_cast<char *>(malloc(1000));
	pthread_create(&thread[0], NULL, first, NULL);
	pthread_create(&thread[1], NULL, second, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	if (argc > 1 && !strcmp(argv[1], "wait")) {
		if (write(1, "ready\n", 6) == 6)
			sleep(60);
	}
	if (argc > 1 && !strcmp(argv[1], "kill"))
		raise(SIGKILL);
	return argc > 1 && !strcmp(argv[1], "three") ? 3 : 0;
}
