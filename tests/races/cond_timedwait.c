// SPDX-License-Identifier: GPL-2.0-or-later
/* A wait that timed out is not ordered after any thread. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, value;

static void *taker(void *arg)
{
	struct timespec t = later(10);

	pthread_mutex_lock(&lock);
	CHECK(pthread_cond_timedwait(&cond, &lock, &t) == ETIMEDOUT);
#ifndef RACY
	tell(1);
	t = later(60000);
	while (!ready)
		CHECK(!pthread_cond_timedwait(&cond, &lock, &t));
#endif
	pthread_mutex_unlock(&lock);
	USE(value); /* RACE: value variable=value */
	RACY_ONLY(tell(1));
	return arg;
}

static void *giver(void *arg)
{
	await(1);
	value = 1; /* RACE: value */
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	return both(taker, giver);
}
