// SPDX-License-Identifier: GPL-2.0-or-later
/* The cleanup handlers of a cancelled thread are ordered before its join. */
#include "races.h"

static int value;

static void cleanup(void *arg)
{
	USE(arg);
	value = 1; /* RACE: value variable=value */
	tell(1);
	/* pthread_cancel() and the end of its target take the same lock */
	RACY_ONLY(await(3));
}

static void *thread(void *arg)
{
	pthread_cleanup_push(cleanup, NULL);
	tell(2);
	for (;;)
		nap();
	pthread_cleanup_pop(0);
	return arg;
}

int main(void)
{
	pthread_t t = start(thread);

	await(2);
	pthread_cancel(t);
	RACY_ONLY(await(1));
	RACY_ONLY(USE(value)); /* RACE: value */
	RACY_ONLY(tell(3));
	pthread_join(t, NULL);
	RIGHT_ONLY(USE(value));
	return 0;
}
