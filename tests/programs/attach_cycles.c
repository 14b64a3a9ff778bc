// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: check-vm, t_attach.  attach_cycles [run|forks]: threads that compute, sleep, wait in a
 * call that a stop would end, and handle signals, until SIGTERM, or for a second without an
 * argument; with "forks", children, too.  Each checks what it sees.  Mappings and descriptors stay
 * the same, so that the suite can compare them.
 *
 * Ends with "right", or "wrong: " and what.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "cases.h"

#define COMPUTING	3
#define WORDS		2048
#define PAUSE_MS	20

static atomic_bool over, quiet;	/* quiet: no more signals */
static bool forks;
static atomic_ulong handled, rounds;
static unsigned long memory[COMPUTING + 1][WORDS];
static pthread_t computing[COMPUTING];

static void stop(int sig)
{
	(void)sig;
	over = true;
}

static void handler(int sig)
{
	(void)sig;
	handled++;
}

/* Write and read memory: many records. */
static unsigned long fold(unsigned long *m)
{
	unsigned long x = 88172645463325252ul, sum = 0;
	int i;

	for (i = 0; i < WORDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		m[x % WORDS] += x;
		m[i] ^= x;
	}
	for (i = 0; i < WORDS; i++) {
		sum = sum * 31 + m[i];
		m[i] = 0;
	}
	return sum;
}

static void *compute(void *arg)
{
	unsigned long first = fold(arg), now;

	/* A signal to a thread that has ended would not be handled. */
	while (!quiet) {
		now = fold(arg);
		check(now == first, "sum", (long)now);
		rounds++;
		/* Calls that return at once. */
		check(getppid() > 0, "getppid", 0);
		/* Not more than it can record. */
		usleep(1000);
	}
	return NULL;
}

/*
 * A stop would end this call with EINTR.  If children end all the time, a tracer can do so, too:
 * see depctl-attach(1).
 */
static void *wait_events(void *arg)
{
	struct timespec begun;
	struct epoll_event e;
	int n;

	while (!over) {
		clock_gettime(CLOCK_MONOTONIC, &begun);
		n = epoll_wait(*(int *)arg, &e, 1, PAUSE_MS);
		if (n < 0 && errno == EINTR && forks)
			continue;
		check(!n, "epoll_wait", n);
		check(ms_since(&begun) >= PAUSE_MS - 1, "ms in epoll_wait", ms_since(&begun));
	}
	return NULL;
}

static void *sleeping(void *arg)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	struct timespec begun;

	while (!over) {
		clock_gettime(CLOCK_MONOTONIC, &begun);
		check(!nanosleep(&pause, NULL), "nanosleep", errno);
		check(ms_since(&begun) >= PAUSE_MS - 1, "ms in nanosleep", ms_since(&begun));
	}
	return arg;
}

/* Each signal runs the handler once. */
static void *signalling(void *arg)
{
	unsigned long sent = 0;

	while (!over) {
		check(!pthread_kill(computing[sent % COMPUTING], SIGUSR1), "pthread_kill", 0);
		sent++;
		while (handled != sent)
			usleep(1000);
		usleep(5000);
	}
	check(handled == sent, "signals handled", (long)handled);
	quiet = true;
	return arg;
}

static void fork_one(unsigned long want)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(fold(memory[COMPUTING]) == want ? 7 : 1);
	check(pid > 0, "fork", pid);
	while (waitpid(pid, &status, 0) < 0)
		check(errno == EINTR, "waitpid", errno);
	check(status == 7 << 8, "a child's status", status);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	unsigned long want = fold(memory[COMPUTING]), i;
	int events = epoll_create1(0);
	pthread_t t[COMPUTING + 3];
	sigset_t set;

	forks = argc > 1 && !strcmp(argv[1], "forks");
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGTERM, stop);
	signal(SIGALRM, stop);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < COMPUTING; i++) {
		pthread_create(&t[i], NULL, compute, memory[i]);
		computing[i] = t[i];
	}
	pthread_create(&t[i++], NULL, wait_events, &events);
	pthread_create(&t[i++], NULL, sleeping, NULL);
	pthread_create(&t[i++], NULL, signalling, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	printf("running\n");
	fflush(stdout);
	if (argc < 2)
		alarm(1);
	while (!over) {
		if (forks)
			fork_one(want);
		usleep(10000);
	}
	while (i)
		pthread_join(t[--i], NULL);
	check(rounds > 0, "rounds", 0);
	printf("right\n");
	return 0;
}
