// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that has ended and was not joined is ordered with no other thread, whatever the C
 * library did with its stack and its locks.
 */
#include "races.h"

static int value;

static void *first(void *arg)
{
	await(1);
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

	/* while it runs: pthread_detach() reads data that the end of a thread changes */
	RACY_ONLY(pthread_detach(t));
	tell(1);
	RIGHT_ONLY(pthread_join(t, NULL));
	await_end(hear(1));
	pthread_join(start(second), NULL);
	return 0;
}
