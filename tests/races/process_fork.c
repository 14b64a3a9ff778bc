// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A child is ordered after its fork, and a parent that has waited for it after the child.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

int main(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(shared != MAP_FAILED);
	*shared = 1;
	if (!fork()) {
		nap();
		*shared = 2; /* RACE: shared */
		_exit(0);
	}
	RACY_ONLY(USE(*shared)); /* RACE: shared */
	CHECK(wait(NULL) > 0);
	RIGHT_ONLY(USE(*shared));
	return 0;
}
