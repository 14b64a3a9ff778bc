// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread destroys a semaphore that another thread may post.
 * tsan: right only, because for it destroying a semaphore is no access
 */
#include <semaphore.h>

#include "races.h"

static sem_t sem;

static void *user(void *arg)
{
	sem_post(&sem); /* RACE: object */
	tell(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	sem_init(&sem, 0, 0);
	t = start(user);
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	sem_destroy(&sem); /* RACE: object */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
