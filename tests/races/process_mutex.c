// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A mutex that processes share.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

struct common {
	pthread_mutex_t lock;
	int counter;
};

int main(void)
{
	pthread_mutexattr_t attr;
	struct common *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(c != MAP_FAILED);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&c->lock, &attr);
	if (!fork()) {
		nap();
		RIGHT_ONLY(pthread_mutex_lock(&c->lock));
		c->counter++; /* RACE: counter */
		RIGHT_ONLY(pthread_mutex_unlock(&c->lock));
		_exit(0);
	}
	pthread_mutex_lock(&c->lock);
	c->counter++; /* RACE: counter */
	pthread_mutex_unlock(&c->lock);
	CHECK(wait(NULL) > 0);
	return 0;
}
