// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One thread writes before its critical section, the other one after its own; data passed in the
 * section orders them.
 */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value, done, other;

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	pthread_mutex_lock(&lock);
	done++;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	usleep(100000);
	pthread_mutex_lock(&lock);
	RACY_ONLY(other++);
	RIGHT_ONLY(done++);
	pthread_mutex_unlock(&lock);
	value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	return both(first, second);
}
