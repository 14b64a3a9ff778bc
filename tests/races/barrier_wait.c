// SPDX-License-Identifier: GPL-2.0-or-later
/* Everything before a barrier is ordered before everything after it, in all threads. */
#include "races.h"

static pthread_barrier_t barrier;
static int value;

static void *first(void *arg)
{
	RIGHT_ONLY(value = 1);
	pthread_barrier_wait(&barrier);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *second(void *arg)
{
	pthread_barrier_wait(&barrier);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	return both(first, second);
}
