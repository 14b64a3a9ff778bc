// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: last.  A program of which only the end is of interest: last_part ROUNDS END.
 *
 * Four threads run for ROUNDS, then they write results, and two of them race; all of this is
 * ordered by mutexes and joins that were used before, too. Some threads live only for a moment.
 * With END:
 *
 *	same	the threads do not use what they share, so that their references do not depend on
 *		timing; the first one then crashes, while the others sleep
 *	crash	the races at the beginning and the end; then a crash
 *	exit	the same, but the program ends with status 0
 *	wait	the same, but the program then works until it is killed
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS	4
#define N	4096

struct worker {
	pthread_t thread;
	unsigned int number;
	unsigned long table[N], result;
};

static struct worker worker[THREADS];
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long rounds, shared, racy_early, racy_late;
static int same, asleep;

/* References whose addresses depend on the values before. */
static __attribute__((noinline, noclone)) void work(struct worker *w, unsigned long times)
{
	unsigned long at = w->number, i;

	for (i = 0; i < times; i++) {
		at = (at * 1103515245 + 12345) % N;
		w->table[at] += i;
		if (w->table[at] & 4)
			w->table[(at + 1) % N]++;
	}
}

static __attribute__((noinline)) void race_early(void)
{
	racy_early++;
}

static __attribute__((noinline)) void race_late(void)
{
	racy_late++;
}

static void hand_over(void)
{
	pthread_mutex_lock(&mutex);
	shared++;
	pthread_mutex_unlock(&mutex);
}

static void *short_lived(void *arg)
{
	unsigned long local[64], *sum = arg;
	int i;

	for (i = 0; i < 64; i++)
		local[i] = shared + (unsigned long)i;
	for (i = 0; i < 64; i++)
		*sum += local[i];
	return NULL;
}

/* A thread on the stack of the one before. */
static void churn(void)
{
	unsigned long sum = 0;
	pthread_t t;
	int i;

	for (i = 0; i < 20; i++) {
		pthread_create(&t, NULL, short_lived, &sum);
		pthread_join(t, NULL);
	}
}

static int *volatile nowhere;

static void crash(void)
{
	*nowhere = 1;
}

static void sleep_for_good(void)
{
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static void *run(void *arg)
{
	struct worker *w = arg;
	unsigned long i;

	if (w->number < 2 && !same)
		race_early();
	for (i = 0; i < rounds; i++) {
		work(w, 1000);
		if (!same)
			hand_over();
	}
	w->result = w->table[7];
	if (same)
		sleep_for_good();
	pthread_barrier_wait(&barrier);
	if (w->number < 2)
		race_late();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *end = argc == 3 ? argv[2] : "";
	unsigned long sum = 0;
	int i;

	rounds = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	same = !strcmp(end, "same");
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 1; i < THREADS; i++) {
		worker[i].number = (unsigned int)i - 1;
		pthread_create(&worker[i].thread, NULL, run, &worker[i]);
	}
	worker[0].number = THREADS - 1;
	if (same) {
		for (i = 0; i < (int)rounds; i++)
			work(&worker[0], 1000);
		while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < THREADS - 1)
			usleep(1000);
		/* The kernel's answer, not the program's: the others are in pause(). */
		usleep(200000);
		crash();
	}
	for (i = 0; i < (int)rounds; i++) {
		work(&worker[0], 1000);
		hand_over();
	}
	pthread_barrier_wait(&barrier);
	for (i = 1; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		sum += worker[i].result;
	}
	sum += shared;
	churn();
	printf("%lu\n", sum);
	fflush(stdout);
	while (!strcmp(end, "wait"))
		work(&worker[0], 1000);
	if (!strcmp(end, "crash"))
		crash();
	return 0;
}
