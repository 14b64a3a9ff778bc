// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads KIND N: have N threads, the first one included, until SIGTERM.
 *
 * sleep: every second one is in nanosleep, the others wait for a futex without a time-out; busy:
 * each counts.  "running" is printed when all are there, "ended" when all have ended, which shows
 * that each still runs the program's code.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK	65536

static atomic_int over, there, gone;
static bool busy;

static void stop(int sig)
{
	(void)sig;
	over = 1;
}

static void count(void)
{
	volatile unsigned long n = 0;

	while (!over)
		n++;
}

static void sleep_long(void)
{
	const struct timespec day = { .tv_sec = 86400 };

	nanosleep(&day, NULL);
}

static void *work(void *arg)
{
	there++;
	if (busy)
		count();
	while (!over) {
		if ((size_t)arg % 2)
			syscall(SYS_futex, &over, FUTEX_WAIT, 0, NULL, NULL, 0);
		else
			sleep_long();
	}
	gone++;
	return NULL;
}

/* Wake those that sleep, again if one was not asleep yet. */
static void end_all(const pthread_t *thread, int n)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int i;

	while (gone < n) {
		syscall(SYS_futex, &over, FUTEX_WAKE, n, NULL, NULL, 0);
		for (i = 1; i < n; i++)
			pthread_kill(thread[i], SIGTERM);
		nanosleep(&pause, NULL);
	}
	for (i = 1; i < n; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0, i, err;
	const struct sigaction sa = { .sa_handler = stop };
	pthread_attr_t attr;
	pthread_t *thread;

	busy = n && !strcmp(argv[1], "busy");
	if (n < 1 || (!busy && strcmp(argv[1], "sleep")))
		return 2;
	thread = calloc((size_t)n, sizeof(*thread));
	if (!thread || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK) ||
	    sigaction(SIGTERM, &sa, NULL)) {
		perror("threads");
		return 1;
	}
	for (i = 1; i < n; i++) {
		err = pthread_create(&thread[i], &attr, work, (void *)(size_t)i);
		if (err) {
			printf("thread %d of %d: %s\n", i + 1, n, strerror(err));
			return 1;
		}
	}
	while (there < n - 1)
		sched_yield();
	puts("running");
	fflush(stdout);
	work(NULL);
	end_all(thread, n);
	puts("ended");
	return 0;
}
