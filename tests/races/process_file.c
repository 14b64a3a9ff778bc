// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that two processes map separately, at different addresses.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

static int *map(int fd, unsigned int pages)
{
	/* an earlier mapping makes its address different */
	void *before = mmap(NULL, 4096 * pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);

	CHECK(before != MAP_FAILED && p != MAP_FAILED);
	return p;
}

int main(void)
{
	int fd = memfd_create("shared", 0);
	pid_t child;
	int *p;

	CHECK(fd >= 0 && !ftruncate(fd, 8192));
	/* Keep it mapped: memory that no process maps is new to the next one that does. */
	map(fd, 1);
	child = fork();
	if (!child) {
		p = map(fd, 3);
		nap();
		p[5] = 1; /* RACE: word */
		_exit(0);
	}
	p = map(fd, 9);
	RIGHT_ONLY(CHECK(wait(NULL) == child));
	USE(p[5]); /* RACE: word */
	RACY_ONLY(CHECK(wait(NULL) == child));
	return 0;
}
