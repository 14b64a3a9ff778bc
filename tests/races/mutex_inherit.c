// SPDX-License-Identifier: GPL-2.0-or-later
/* A mutex with priority inheritance, which the kernel locks under contention. */
#include "races.h"

static pthread_mutex_t lock;
static int counter;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	tell(1);
	nap();
	counter++; /* RACE: counter variable=counter */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	counter++; /* RACE: counter */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attr);
	return both(first, second);
}
