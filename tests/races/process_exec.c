// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program is ordered before the program that it executes, and before a process that waits for
 * that.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

static int *map(int fd)
{
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

int main(int argc, char **argv)
{
	char number[12];
	int fd;

	if (argc > 1) {
		nap();
		fd = atoi(argv[1]);
		USE(map(fd)[4]);
		map(fd)[3]++; /* RACE: word */
		_exit(0);
	}
	fd = memfd_create("shared", 0);
	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	snprintf(number, sizeof(number), "%d", fd);
	/* Keep it mapped: memory that no process maps is new to the next one that does. */
	map(fd);
	if (!fork()) {
		map(fd)[4] = 1;
		execl("/proc/self/exe", argv[0], number, NULL);
		_exit(1);
	}
	RIGHT_ONLY(CHECK(wait(NULL) > 0));
	map(fd)[3]++; /* RACE: word */
	RACY_ONLY(CHECK(wait(NULL) > 0));
	return 0;
}
