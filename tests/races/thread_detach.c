// SPDX-License-Identifier: GPL-2.0-or-later
/* A detached thread is ordered by a semaphore, up to its post. */
#include <semaphore.h>

#include "races.h"

static sem_t done;
static int value;

static void *thread(void *arg)
{
	pthread_detach(pthread_self());
	RIGHT_ONLY(value = 1);
	sem_post(&done);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	tell(1);
	return arg;
}

int main(void)
{
	sem_init(&done, 0, 0);
	start(thread);
	sem_wait(&done);
	await(1);
	USE(value); /* RACE: value */
	return 0;
}
