// SPDX-License-Identifier: GPL-2.0-or-later
/* A barrier of one is destroyed that a thread may come to. */
#include "races.h"

static pthread_barrier_t barrier;

static void *user(void *arg)
{
	pthread_barrier_wait(&barrier); /* RACE: object */
	tell(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 1);
	t = start(user);
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	pthread_barrier_destroy(&barrier); /* RACE: object */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
