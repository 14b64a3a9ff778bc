// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A barrier that is used repeatedly; the racy thread skips it once in each round.
 * tsan: right only, because a thread that leaves a barrier late also acquires the next round
 */
#include "races.h"

#define ROUNDS	3

static pthread_barrier_t barrier;
static int value;

static void *first(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		value = i; /* RACE: value variable=value */
		pthread_barrier_wait(&barrier);
		RIGHT_ONLY(pthread_barrier_wait(&barrier));
	}
	return arg;
}

static void *second(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		nap();
		USE(value); /* RACE: value */
		RIGHT_ONLY(pthread_barrier_wait(&barrier));
	}
	return arg;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	return both(first, second);
}
