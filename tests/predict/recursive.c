// SPDX-License-Identifier: GPL-2.0-or-later
/* A recursive lock is held until its last unlock. */
#include "../races/races.h"

static pthread_mutex_t lock;
static volatile int value;

static void change(int to, int outside)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	if (!outside)
		value = to; /* RACE: value variable=value */
	pthread_mutex_unlock(&lock);
	if (outside)
		value = to; /* RACE: value */
}

static void *first(void *arg)
{
	change(1, 0);
	return arg;
}

static void *second(void *arg)
{
	int outside = 0;

	RACY_ONLY(outside = 1);
	usleep(100000);
	change(2, outside);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	return both(first, second);
}
