// SPDX-License-Identifier: GPL-2.0-or-later
/* One thread holds the lock, the other one has just released it. */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	value = 1; /* RACE: value variable=value */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	usleep(100000);
	pthread_mutex_lock(&lock);
	RIGHT_ONLY(value = 2);
	pthread_mutex_unlock(&lock);
	RACY_ONLY(value = 2); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(first, second);
}
