/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the programs in this directory.  With RACY defined a program has the races that its
 * comments name, without it has none.  Whether two accesses are ordered must not depend on the
 * schedule, so threads that must wait for each other use functions that order nothing.
 */
#ifndef RACES_H
#define RACES_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef RACY
#define RACY_ONLY(...)	__VA_ARGS__
#define RIGHT_ONLY(...)
#else
#define RACY_ONLY(...)
#define RIGHT_ONLY(...)	__VA_ARGS__
#endif

#define NOINLINE	__attribute__((noinline))

/* Read a value, so that the compiler cannot remove the read. */
#define USE(value)	__asm__ volatile("" : : "r"(value) : "memory")

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "%s:%d: %s is false\n",		\
				__FILE__, __LINE__, #cond);		\
			_exit(1);					\
		}							\
	} while (0)

/* Other detectors miss accesses at exactly the same time. */
static inline void nap(void)
{
	usleep(5000);
}

/*
 * tell() and await() pass a number through a resource limit of the process that is not used
 * otherwise: one thread waits for another one in time, but no model of synchronisation knows of it.
 */
static inline void tell(uint64_t number)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_RTTIME, &limit));
	limit.rlim_cur = number;
	CHECK(!setrlimit(RLIMIT_RTTIME, &limit));
}

static inline uint64_t told(void)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_RTTIME, &limit));
	return limit.rlim_cur;
}

/* wait for a number other than @after, which is NOTHING at first */
#define NOTHING	((uint64_t)RLIM_INFINITY)

static inline uint64_t hear(uint64_t after)
{
	while (told() == after)
		usleep(1000);
	return told();
}

static inline void await(uint64_t number)
{
	while (told() != number)
		usleep(1000);
	nap();
}

/* wait until a thread, whose number was passed, has ended */
static inline void await_end(pid_t thread)
{
	while (!syscall(SYS_tgkill, getpid(), thread, 0))
		usleep(1000);
	nap();
}

/* the time of day in so many milliseconds */
static inline struct timespec later(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static inline pthread_t start(void *(*function)(void *))
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, function, NULL));
	return t;
}

static inline int both(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t a = start(first), b = start(second);

	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}

#endif
