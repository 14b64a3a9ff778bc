// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with what profiles by thread and time can get wrong: threads, a signal handler, a child
 * that calls execve and so changes its program but not its ids.  With a number: recursion of that
 * depth.  For tests/export_viewers.sh, which compiles it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	3

static volatile int sink;

__attribute__((noinline)) static void spin(int n)
{
	while (n--)
		sink++;
}

__attribute__((noinline)) static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		spin(100);
	sink--;
}

static void handler(int sig)
{
	spin(sig);
}

static void *thread(void *arg)
{
	sink += fib(*(int *)arg);
	if (raise(SIGUSR1))
		abort();
	return NULL;
}

static void child(const char *program)
{
	deep(40);
	execl(program, program, "20", (char *)NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = handler };
	int depth[THREADS] = { 11, 13, 15 }, status, i;
	pthread_t t[THREADS];
	pid_t pid;

	if (argc > 1) {
		deep(atoi(argv[1]));
		return 0;
	}
	if (sigaction(SIGUSR1, &act, NULL) || raise(SIGUSR1))
		return 1;
	pid = fork();
	if (!pid)
		child(argv[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, &depth[i]))
			return 1;
	for (i = 0; i < THREADS; i++)
		if (pthread_join(t[i], NULL))
			return 1;
	deep(60);
	sink += fib(18);
	return 0;
}
