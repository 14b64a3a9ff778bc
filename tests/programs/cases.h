/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by programs with several cases, each of which checks what it sees.
 *
 * A case prints "at N" and then waits for a byte of standard input, so that the suite decides what
 * happens at this point.  It ends with "right", or "wrong: " and what.
 */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct test_case {
	const char *name;
	void (*run)(void);
};

static int step;

__attribute__((noreturn))
static inline void wrong(const char *what, long value)
{
	printf("wrong: %s, %ld (%s)\n", what, value, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static inline void check(int good, const char *what, long value)
{
	if (!good)
		wrong(what, value);
}

static inline void announce(void)
{
	printf("at %d\n", ++step);
	fflush(stdout);
}

/* Wait for a byte; a handler may run meanwhile. */
static inline void here(void)
{
	char c;

	announce();
	while (read(STDIN_FILENO, &c, 1) < 0)
		check(errno == EINTR, "read", errno);
}

/* Is there a byte to read, or has standard input ended? */
static inline int told_to_end(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) > 0;
}

static inline void set_handler(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | flags };

	check(!sigaction(sig, &sa, NULL), "sigaction", sig);
}

static inline void block(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(how, &set, NULL);
}

static inline long ms_since(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begun->tv_sec) * 1000 + (now.tv_nsec - begun->tv_nsec) / 1000000;
}

static inline void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static inline pthread_t begin_thread(void *(*f)(void *), void *arg)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, f, arg);

	check(!err, "pthread_create", err);
	return t;
}

/* Run the case of this name.  Return: the status of the program. */
static inline int run_case(const struct test_case *cases, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n && strcmp(cases[i].name, name); i++)
		;
	if (i == n)
		return 2;
	cases[i].run();
	printf("right\n");
	return 0;
}

#endif
