// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A signal from one process to another orders them.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

int main(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t set;
	int number;

	CHECK(shared != MAP_FAILED);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!fork()) {
		nap();
		RIGHT_ONLY(*shared = 1);
		CHECK(!kill(getppid(), SIGUSR1));
		RACY_ONLY(*shared = 1); /* RACE: shared */
		_exit(0);
	}
	CHECK(!sigwait(&set, &number));
	nap();
	USE(*shared); /* RACE: shared */
	CHECK(wait(NULL) > 0);
	return 0;
}
