// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stamps FILE N PERIOD-US: N threads that sleep for the period, again and again, until SIGTERM.
 *
 * FILE receives a struct slot for each.  The reader sets latest to 0 to begin anew.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STACK	65536

/**
 * struct slot - what a thread has seen, in ns
 * @stamp:	CLOCK_MONOTONIC when it last ran
 * @latest:	most time by which it has run later than its sleep should have ended
 */
struct slot {
	_Atomic uint64_t stamp, latest;
};

static struct slot *slot;
static uint64_t period_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *work(void *arg)
{
	const struct timespec pause = { .tv_sec = (time_t)(period_ns / 1000000000),
					.tv_nsec = (long)(period_ns % 1000000000) };
	struct slot *s = arg;
	uint64_t begun, now;

	for (;;) {
		begun = now_ns();
		nanosleep(&pause, NULL);
		now = now_ns();
		if (now - begun > period_ns && now - begun - period_ns > s->latest)
			s->latest = now - begun - period_ns;
		s->stamp = now;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc == 4 ? atoi(argv[2]) : 0, i, fd;
	size_t size = (size_t)n * sizeof(*slot);
	pthread_attr_t attr;
	pthread_t t;

	period_ns = n > 0 ? strtoul(argv[3], NULL, 10) * 1000 : 0;
	if (!period_ns)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return 1;
	slot = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (slot == MAP_FAILED || pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, STACK))
		return 1;
	for (i = 1; i < n; i++) {
		if (pthread_create(&t, &attr, work, &slot[i])) {
			printf("there is no thread %d\n", i + 1);
			return 1;
		}
	}
	puts("running");
	fflush(stdout);
	work(&slot[0]);
	return 0;
}
