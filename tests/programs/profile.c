// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose calls, loops and lines have known counts, with threads, signals and a child.
 * tests/profiles.py has the numbers.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int seven = 7, signals;

__attribute__((noinline, noclone)) static int leaf(int n)
{
	return n + seven; /* executed 303 */
}

__attribute__((noinline, noclone)) static int inner(int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += seven ^ i; /* executed 7000 */
	return sum;
}

__attribute__((noinline, noclone)) static int outer(int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += inner(seven); /* executed 1000 */
	return sum;
}

__attribute__((noinline, noclone)) static int even(int n);

__attribute__((noinline, noclone)) static int odd(int n)
{
	int r = n ? even(n - 1) : 0;

	seven = 7; /* executed 50 */
	return r;
}

__attribute__((noinline, noclone)) static int even(int n)
{
	int r = n ? odd(n - 1) : 1;

	seven = 7;
	return r;
}

static void handler(int sig)
{
	(void)sig;
	signals++; /* executed 20 */
}

static void *thread(void *arg)
{
	int i, sum = 0;

	for (i = 0; i < 100; i++)
		sum += leaf(i); /* executed 300 */
	return sum ? arg : NULL;
}

int main(void)
{
	pthread_t t[3];
	int i, sum, status;
	pid_t child;

	signal(SIGUSR1, handler);
	for (i = 0; i < 20; i++)
		raise(SIGUSR1); /* executed 20 */
	sum = outer(1000) + even(100) + leaf(1) + leaf(2);
	for (i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, thread, &sum))
			return 1;
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(leaf(3) == 10 ? 0 : 1);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 2;
	printf("%d %d\n", sum, signals);
	return 0;
}
