// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program waits by waitid() for any child; the child was created by the program that executed
 * this one.
 * tsan: no, because it does not see that two processes have memory in common
 */
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
	siginfo_t info;

	RACY_ONLY(p[3]++); /* RACE: word */
	CHECK(!waitid(P_ALL, 0, &info, WEXITED));
	RIGHT_ONLY(p[3]++);
	return 0;
}

static void replace(int fd, char *name)
{
	char number[12];

	snprintf(number, sizeof(number), "%d", fd);
	if (!fork()) {
		map(fd)[3]++; /* RACE: word */
		_exit(0);
	}
	execl("/proc/self/exe", name, number, NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? atoi(argv[1]) : memfd_create("shared", 0);

	if (argc > 1)
		return replaced(map(fd));
	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	/* this process keeps it mapped, so it is not new to another one */
	map(fd);
	if (!fork())
		replace(fd, argv[0]);
	CHECK(wait(NULL) > 0);
	return 0;
}
