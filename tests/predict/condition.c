// SPDX-License-Identifier: GPL-2.0-or-later
/* One thread waits until it is signalled, another one only for a limited time. */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t there = PTHREAD_COND_INITIALIZER;
static volatile int value, ready;

static void *first(void *arg)
{
	RIGHT_ONLY(nap());
	value = 1; /* RACE: value variable=value */
	pthread_mutex_lock(&lock);
	ready = 1;
	RIGHT_ONLY(pthread_cond_signal(&there));
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	RACY_ONLY(struct timespec t = later(150));

	pthread_mutex_lock(&lock);
	RACY_ONLY(pthread_cond_timedwait(&there, &lock, &t));
	RIGHT_ONLY(while (!ready) pthread_cond_wait(&there, &lock));
	pthread_mutex_unlock(&lock);
	value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	return both(first, second);
}
