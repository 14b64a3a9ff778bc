// SPDX-License-Identifier: GPL-2.0-or-later
/* A timedlock that times out orders nothing, one that succeeds does. */
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
	struct timespec soon, late;

	await(1);
	soon = later(10);
	CHECK(pthread_mutex_timedlock(&lock, &soon) == ETIMEDOUT);
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
	late = later(60000);
	CHECK(!pthread_mutex_timedlock(&lock, &late));
	RIGHT_ONLY(counter++);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	return both(first, second);
}
