// SPDX-License-Identifier: GPL-2.0-or-later
/* One of two threads changes a counter without the mutex. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	counter++; /* RACE: counter variable=counter */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	nap();
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	counter++; /* RACE: counter */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	return both(first, second);
}
