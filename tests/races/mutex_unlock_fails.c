// SPDX-License-Identifier: GPL-2.0-or-later
/* An unlock by a thread that does not hold the mutex fails and orders nothing. */
#include "races.h"

static pthread_mutex_t lock;
static int counter;

static void *first(void *arg)
{
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	counter++; /* RACE: counter variable=counter */
	CHECK(pthread_mutex_unlock(&lock) == (RACY_ONLY(EPERM) RIGHT_ONLY(0)));
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	pthread_mutex_lock(&lock);
	counter++; /* RACE: counter */
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&lock, &attr);
	return both(first, second);
}
