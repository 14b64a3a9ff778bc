// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that waited for a semaphore is ordered after everything before the post. */
#include <semaphore.h>

#include "races.h"

static sem_t sem;
static int value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	sem_post(&sem);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	sem_wait(&sem);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	sem_init(&sem, 0, 0);
	return both(giver, taker);
}
