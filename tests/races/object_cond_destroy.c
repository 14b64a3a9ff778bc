// SPDX-License-Identifier: GPL-2.0-or-later
/* A condition variable is destroyed that a thread may signal. */
#include "races.h"

static pthread_cond_t cond;

static void *user(void *arg)
{
	pthread_cond_signal(&cond); /* RACE: object */
	tell(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_cond_init(&cond, NULL);
	t = start(user);
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	pthread_cond_destroy(&cond); /* RACE: object */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
