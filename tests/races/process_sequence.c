// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two children map a file that their parent has mapped and never accesses; the parent waits for the
 * first child before it creates the second one.
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

int main(void)
{
	int fd = memfd_create("shared", 0);

	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	/* Keep it mapped: memory that no process maps is new to the next one that does. */
	map(fd);
	if (!fork()) {
		map(fd)[5] = 1; /* RACE: word */
		_exit(0);
	}
	RIGHT_ONLY(CHECK(wait(NULL) > 0));
	if (!fork()) {
		nap();
		USE(map(fd)[5]); /* RACE: word */
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
