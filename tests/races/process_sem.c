// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A semaphore that processes share.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

struct common {
	sem_t sem;
	int value;
};

int main(void)
{
	struct common *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(c != MAP_FAILED);
	sem_init(&c->sem, 1, 0);
	if (!fork()) {
		nap();
		RIGHT_ONLY(c->value = 1);
		sem_post(&c->sem);
		RACY_ONLY(c->value = 1); /* RACE: value */
		_exit(0);
	}
	sem_wait(&c->sem);
	nap();
	USE(c->value); /* RACE: value */
	CHECK(wait(NULL) > 0);
	return 0;
}
