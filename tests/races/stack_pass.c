// SPDX-License-Identifier: GPL-2.0-or-later
/* A local variable whose address was passed to a thread. */
#include "races.h"

static void *thread(void *arg)
{
	int *counter = arg;

	nap();
	(*counter)++; /* RACE: counter */
	return NULL;
}

int main(void)
{
	int counter = 0;
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, thread, &counter));
	RIGHT_ONLY(pthread_join(t, NULL));
	counter++; /* RACE: counter */
	USE(&counter);
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
