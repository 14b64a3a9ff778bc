// SPDX-License-Identifier: GPL-2.0-or-later
/* An error-checking mutex refuses the second lock, so the first unlock is the last. */
#include "races.h"

static pthread_mutex_t lock;
static int counter;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	CHECK(pthread_mutex_lock(&lock) == EDEADLK);
	RIGHT_ONLY(counter++);
	pthread_mutex_unlock(&lock);
	RACY_ONLY(counter++); /* RACE: counter variable=counter */
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
