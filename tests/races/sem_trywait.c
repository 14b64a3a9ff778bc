// SPDX-License-Identifier: GPL-2.0-or-later
/* A failed sem_trywait orders nothing. */
#include <semaphore.h>

#include "races.h"

static sem_t sem;
static int value;

static void *giver(void *arg)
{
	await(1);
	value = 1; /* RACE: value variable=value */
	sem_post(&sem);
	return arg;
}

static void *taker(void *arg)
{
	CHECK(sem_trywait(&sem) == -1 && errno == EAGAIN);
	RACY_ONLY(USE(value)); /* RACE: value */
	tell(1);
	while (sem_trywait(&sem))
		nap();
	RIGHT_ONLY(USE(value));
	return arg;
}

int main(void)
{
	sem_init(&sem, 0, 0);
	return both(giver, taker);
}
