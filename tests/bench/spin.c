// SPDX-License-Identifier: GPL-2.0-or-later
/* spin N: let N threads do the same work, some milliseconds of it, and print the seconds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS	20000000ul

static void *work(void *arg)
{
	volatile unsigned long x = 1;
	unsigned long i;

	for (i = 0; i < ROUNDS; i++)
		x = x * 3 + i;
	return arg;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, i;
	pthread_t thread[256];
	double begun = now();

	if (n < 1 || n > 256)
		return 2;
	for (i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("%.6f\n", now() - begun);
	return 0;
}
