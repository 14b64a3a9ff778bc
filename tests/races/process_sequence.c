// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two children, of a parent that waits for the first one before it makes the second, map a file
 * that it has mapped and never touches.
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
	/* It stays: memory that nobody has is new to the next one who maps it. */
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
