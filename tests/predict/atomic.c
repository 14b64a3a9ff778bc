// SPDX-License-Identifier: GPL-2.0-or-later
/* A flag that a thread reads orders it; a flag that it does not read does not. */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;
static _Atomic int flag;

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	flag++;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	usleep(100000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	RIGHT_ONLY(if (flag))
		value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	return both(first, second);
}
