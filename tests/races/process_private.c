// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After a fork each process has its own copy of private memory, but not of shared memory.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

int main(void)
{
	int flags = MAP_ANONYMOUS | RACY_ONLY(MAP_SHARED) RIGHT_ONLY(MAP_PRIVATE);
	int *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);

	CHECK(memory != MAP_FAILED);
	*memory = 1;
	if (!fork()) {
		nap();
		*memory = 2; /* RACE: memory */
		_exit(0);
	}
	*memory = 3; /* RACE: memory */
	CHECK(wait(NULL) > 0);
	return 0;
}
