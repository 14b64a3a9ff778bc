// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: snapshot, triggers, triggers-depd. A small server, of whose recording only a part is
 * kept: flight MILLISECONDS [SLOW [TAKES]].
 *
 * The main thread handles requests for this time, and three threads work with it; all that they
 * share is guarded by a mutex. With SLOW, request number SLOW takes 60 ms, or TAKES ms, in which
 * handle_slowly() writes 1, 2, ... 1000 to a table. At the end the program checks its sums.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS	3
#define N	1024
#define STEPS	1000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long shared[N], done;
static int over;
unsigned long slow_table[STEPS];
static unsigned long long slow_ns = 60000000;

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* Add one to a word that is chosen by what is there. Return: 0 at the end. */
static int step(unsigned long seed)
{
	int more;

	pthread_mutex_lock(&mutex);
	shared[(seed * 1103515245 + shared[seed % N]) % N]++;
	done++;
	more = !over;
	pthread_mutex_unlock(&mutex);
	return more;
}

static void *work(void *arg)
{
	unsigned long mine[64] = { 0 }, i, at = (unsigned long)arg, sum = 0;

	for (i = 0; step(at + i); i++)
		for (at = 0; at < 64; at++)
			mine[at] += i ^ at;
	for (at = 0; at < 64; at++)
		sum += mine[at];
	return sum ? NULL : arg;
}

__attribute__((noinline, noclone)) void handle_slowly(void)
{
	unsigned long long begin = now_ns();
	unsigned long i;

	for (i = 0; i < STEPS; i++) {
		slow_table[i] = i + 1;
		while (now_ns() - begin < slow_ns / STEPS * (i + 1))
			usleep(10);
	}
}

__attribute__((noinline, noclone)) void handle_request(unsigned long number, unsigned long slow)
{
	step(number);
	if (slow && number == slow)
		handle_slowly();
}

int main(int argc, char **argv)
{
	unsigned long long ms = strtoull(argc > 1 ? argv[1] : "100", NULL, 10);
	unsigned long long end = now_ns() + ms * 1000000;
	unsigned long slow = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, i, sum = 0;
	pthread_t thread[THREADS];

	if (argc > 3)
		slow_ns = strtoull(argv[3], NULL, 10) * 1000000;
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (i = 1; now_ns() < end || i <= slow + 10; i++)
		handle_request(i, slow);
	pthread_mutex_lock(&mutex);
	over = 1;
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < N; i++)
		sum += shared[i];
	printf("sums are %s\n", sum == done ? "good" : "wrong");
	return sum != done;
}
