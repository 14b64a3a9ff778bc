// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that has ended and that nobody joined is ordered with nobody, whatever the C
 * library did between itself with its stack and its locks.
 */
#include "races.h"

static int value;

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	tell(gettid());
	return arg;
}

static void *second(void *arg)
{
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	pthread_t t = start(first);

	RACY_ONLY(pthread_detach(t));
	RIGHT_ONLY(pthread_join(t, NULL));
	await_end(hear(NOTHING));
	pthread_join(start(second), NULL);
	return 0;
}
