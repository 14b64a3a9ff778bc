// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: first-engine.  crowd [N]: N children that are all alive at the same time.  Each then
 * computes, by turns forks, spawns or forks and executes a child of its own, and ends with a status
 * that tells whether all of that was right.  One of four makes a thread as well.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define MAX 4000

extern char **environ;
static char *self;

static uint64_t work(unsigned int n)
{
	uint64_t v = n;

	for (int i = 0; i < 2000; i++)
		v = (v ^ (v >> 13)) * 0x9e3779b97f4a7c15 + n;
	return v;
}

/* Of child or grandchild @n */
static int expected(unsigned int n)
{
	return work(n) & 127;
}

static void *thread(void *arg)
{
	return (void *)work((uintptr_t)arg);
}

static pid_t execute(unsigned int n, int by_fork)
{
	char number[16];
	char *argv[] = { self, "leaf", number, NULL };
	pid_t pid;

	snprintf(number, sizeof(number), "%u", n);
	if (!by_fork)
		return posix_spawn(&pid, self, NULL, NULL, argv, environ) ? -1 : pid;
	pid = fork();
	if (!pid) {
		execv(self, argv);
		_exit(255);
	}
	return pid;
}

static int grandchild(unsigned int n)
{
	pid_t pid;
	int status;

	switch (n % 3) {
	case 0:
		pid = fork();
		if (!pid)
			_exit(expected(n + 1));
		break;
	default:
		pid = execute(n + 1, n % 3 == 2);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == expected(n + 1);
}

static void child(unsigned int n, int gate)
{
	pthread_t t;
	void *ret = NULL;
	char c;

	if (read(gate, &c, 1) != 0)
		_exit(254);
	if (n % 4 == 0 && (pthread_create(&t, NULL, thread, (void *)(uintptr_t)n) ||
			   pthread_join(t, &ret) || ret != (void *)work(n)))
		_exit(253);
	_exit(grandchild(n) ? expected(n) : 252);
}

int main(int argc, char **argv)
{
	static pid_t pids[MAX];
	unsigned int n = argc > 1 ? (unsigned int)atoi(argv[1]) : 20, wrong = 0;
	int gate[2], status;

	self = argv[0];
	if (argc > 2)
		return expected((unsigned int)atoi(argv[2]));
	CHECK(n <= MAX && !pipe(gate));
	for (unsigned int i = 0; i < n; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (!pids[i]) {
			close(gate[1]);
			child(i, gate[0]);
		}
	}
	close(gate[1]);
	for (unsigned int i = 0; i < n; i++) {
		CHECK(waitpid(pids[i], &status, 0) == pids[i]);
		if (status != expected(i) << 8) {
			fprintf(stderr, "child %u: status %x\n", i, (unsigned int)status);
			wrong++;
		}
		mix((uint64_t)status);
	}
	printf("%u children, %u wrong\n", n, wrong);
	return finish("crowd");
}
