// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Children in pid namespaces of their own: all are number 1 to themselves, at one time.
 * Built by tests/first_namespaces.sh.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN	4

static int child(int go)
{
	char c;
	int status;
	pid_t pid;

	if (read(go, &c, 1) != 1)
		return 1;
	pid = fork();
	if (!pid)
		_exit(getppid() == 1 ? 3 : 4);
	waitpid(pid, &status, 0);
	return getpid() == 1 && pid == 2 && WEXITSTATUS(status) == 3 ? 5 : 1;
}

int main(void)
{
	int go[2], i, status, good = 0;
	pid_t pid[CHILDREN];

	if (pipe(go))
		return 1;
	for (i = 0; i < CHILDREN; i++) {
		pid[i] = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
		if (!pid[i])
			_exit(child(go[0]));
		if (pid[i] < 0)
			return 2;
	}
	if (write(go[1], "....", CHILDREN) != CHILDREN)
		return 1;
	for (i = 0; i < CHILDREN; i++) {
		waitpid(pid[i], &status, 0);
		good += WIFEXITED(status) && WEXITSTATUS(status) == 5;
	}
	printf("%d of %d\n", good, CHILDREN);
	return 0;
}
