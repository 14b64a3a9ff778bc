// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For the suite page: three threads with known counts of calls and of executed lines, and a
 * function whose name ends a script element.
 */
#include <pthread.h>
#include <stdio.h>

#define THREADS	3
#define CALLS	50	/* of middle(), in each thread */
#define ROUNDS	40	/* in each call of leaf() */

static volatile unsigned long total;

__attribute__((noinline)) void evil(void)
	__asm__("\"</script><img src=x onerror=document.title='bad'>\"");

__attribute__((noinline)) void evil(void)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		total++;	/* MARK evil */
}

__attribute__((noinline)) static void leaf(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		total += i * i;	/* MARK leaf */
}

__attribute__((noinline)) static void middle(void)
{
	leaf();
	leaf();
}

static void *run(void *arg)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		middle();
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, run, NULL))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	evil();
	printf("%lu\n", total != 0);
	return 0;
}
