// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trylock that succeeds implies nothing; one that fails implies that the other thread holds the
 * lock.
 */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	pthread_mutex_lock(&lock);
	RIGHT_ONLY(usleep(300000));
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	int busy;

	usleep(100000);
	busy = pthread_mutex_trylock(&lock);
	if (!busy)
		pthread_mutex_unlock(&lock);
	RIGHT_ONLY(if (busy))
		value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	return both(first, second);
}
