// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipe between processes orders their accesses to shared memory.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

int main(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];
	char byte;

	CHECK(shared != MAP_FAILED && !pipe(ends));
	if (!fork()) {
		nap();
		RIGHT_ONLY(*shared = 1);
		CHECK(write(ends[1], "x", 1) == 1);
		RACY_ONLY(*shared = 1); /* RACE: shared */
		_exit(0);
	}
	CHECK(read(ends[0], &byte, 1) == 1);
	nap();
	USE(*shared); /* RACE: shared */
	CHECK(wait(NULL) > 0);
	return 0;
}
