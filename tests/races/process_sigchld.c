// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SIGCHLD reports the end of a child to a program that did not create it: the program that created
 * the child has executed this one.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

static int *map(int fd)
{
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static int replaced(int *p)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	RACY_ONLY(p[3]++); /* RACE: word */
	CHECK(!sigwait(&set, &number));
	RIGHT_ONLY(p[3]++);
	CHECK(wait(NULL) > 0);
	return 0;
}

static void become(char *name, const char *what, int fd)
{
	char number[12];

	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", name, what, number, NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? atoi(argv[2]) : memfd_create("shared", 0);
	sigset_t set;

	if (argc > 2 && !strcmp(argv[1], "child")) {
		nap();
		map(fd)[3]++; /* RACE: word */
		return 0;
	}
	if (argc > 2)
		return replaced(map(fd));
	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	/* this process keeps it mapped, so it is not new to another one */
	map(fd);
	if (!fork()) {
		sigemptyset(&set);
		sigaddset(&set, SIGCHLD);
		sigprocmask(SIG_BLOCK, &set, NULL);
		become(argv[0], fork() ? "parent" : "child", fd);
	}
	CHECK(wait(NULL) > 0);
	return 0;
}
