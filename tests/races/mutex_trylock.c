// SPDX-License-Identifier: GPL-2.0-or-later
/* A trylock that fails orders nothing, and the racy one goes on nevertheless. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	tell(1);
	await(2);
	counter++; /* RACE: counter variable=counter */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	CHECK(pthread_mutex_trylock(&lock) == EBUSY);
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
#ifndef RACY
	while (pthread_mutex_trylock(&lock))
		nap();
	counter++;
	pthread_mutex_unlock(&lock);
#endif
	return arg;
}

int main(void)
{
	return both(first, second);
}
