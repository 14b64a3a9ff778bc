// SPDX-License-Identifier: GPL-2.0-or-later
/* A broadcast wakes two threads, which are ordered after the sender. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, one, two;

static void wait_for_it(void)
{
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static void *left(void *arg)
{
	wait_for_it();
	USE(one); /* RACE: left */
	return arg;
}

static void *right(void *arg)
{
	wait_for_it();
	USE(two); /* RACE: right */
	return arg;
}

int main(void)
{
	pthread_t a = start(left), b = start(right);

	nap();
	RIGHT_ONLY(one = 1);
	RIGHT_ONLY(two = 1);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	nap();
	RACY_ONLY(one = 1); /* RACE: left variable=one */
	RACY_ONLY(two = 1); /* RACE: right variable=two */
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
