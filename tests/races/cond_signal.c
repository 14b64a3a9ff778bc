// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The waiting thread is ordered after everything before the signal, but not after later accesses.
 */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	nap();
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
