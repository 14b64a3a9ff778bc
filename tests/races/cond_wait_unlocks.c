// SPDX-License-Identifier: GPL-2.0-or-later
/* Waiting releases the mutex: earlier accesses under the mutex are ordered, others are not. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready;
int value;

static void *waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	value = 1; /* RACE: value variable=value */
	tell(1);
	while (!ready)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *waker(void *arg)
{
	await(1);
	RACY_ONLY(value = 2); /* RACE: value */
	pthread_mutex_lock(&lock);
	RIGHT_ONLY(value = 2);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	return both(waiter, waker);
}
