// SPDX-License-Identifier: GPL-2.0-or-later
/* A semaphore wait that timed out orders nothing. */
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
	struct timespec t = later(10);

	CHECK(sem_timedwait(&sem, &t) == -1 && errno == ETIMEDOUT);
	RACY_ONLY(USE(value)); /* RACE: value */
	tell(1);
	t = later(60000);
	CHECK(!sem_timedwait(&sem, &t));
	RIGHT_ONLY(USE(value));
	return arg;
}

int main(void)
{
	sem_init(&sem, 0, 0);
	return both(giver, taker);
}
