// SPDX-License-Identifier: GPL-2.0-or-later
/* A semaphore of one as a lock. */
#include <semaphore.h>

#include "races.h"

static sem_t sem;
static int counter;

static void *first(void *arg)
{
	sem_wait(&sem);
	counter++; /* RACE: counter variable=counter */
	sem_post(&sem);
	return arg;
}

static void *second(void *arg)
{
	nap();
	RIGHT_ONLY(sem_wait(&sem));
	counter++; /* RACE: counter */
	RIGHT_ONLY(sem_post(&sem));
	return arg;
}

int main(void)
{
	sem_init(&sem, 0, 1);
	return both(first, second);
}
