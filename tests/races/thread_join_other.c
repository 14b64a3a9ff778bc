// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that joins another one passes the order on to the thread that joins it. */
#include "races.h"

static int value;

static void *inner(void *arg)
{
	RACY_ONLY(await(2));
	value = 1; /* RACE: value variable=value */
	tell(1);
	return arg;
}

static void *outer(void *arg)
{
	pthread_t t = start(inner);

	/* while it runs: pthread_detach() reads data that the end of a thread changes */
	RACY_ONLY(pthread_detach(t));
	RACY_ONLY(tell(2));
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	return arg;
}

int main(void)
{
	pthread_t t = start(outer);

	pthread_join(t, NULL);
	USE(value); /* RACE: value */
	return 0;
}
