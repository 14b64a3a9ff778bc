// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forks and goes on to another image (itself), COUNT times: fork_behind COUNT.  The
 * child is stopped before it has begun, which it does when that image is there: it may
 * run on the parent's processor only.
 *
 * Suite: children
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	char next[12], stopped[12];
	cpu_set_t one;
	pid_t child;

	if (argc > 2) {
		child = atoi(argv[2]);
		CHECK(!kill(child, SIGCONT) && waitpid(child, NULL, 0) == child);
	}
	if (!n) {
		puts("fork_behind: end of the chain");
		return 0;
	}
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	child = fork();
	if (!child)
		_exit(0);
	CHECK(child > 0 && !kill(child, SIGSTOP));
	snprintf(next, sizeof(next), "%d", n - 1);
	snprintf(stopped, sizeof(stopped), "%d", child);
	execl("/proc/self/exe", argv[0], next, stopped, NULL);
	CHECK(!"executed");
}
