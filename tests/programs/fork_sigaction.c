// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: signals
 *
 * Threads change signal actions while the main thread forks; each child changes one as well.  A
 * lock of the engine's that another thread holds at the fork must not stay held in the child.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define THREADS	3
#define FORKS	400

static atomic_int over;

static void nothing(int sig)
{
	(void)sig;
}

static void change(int sig)
{
	struct sigaction sa = { .sa_handler = nothing };

	if (sigaction(sig, &sa, NULL))
		abort();
}

static void *changes(void *arg)
{
	while (!over)
		change(SIGUSR2);
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	int status, n = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, changes, NULL))
			abort();
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			change(SIGUSR1);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			abort();
		n += status == 0;
	}
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d of %d children ended by themselves\n", n, FORKS);
	return n != FORKS;
}
