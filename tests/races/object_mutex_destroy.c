// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread destroys a mutex that another thread may be using. */
#include "races.h"

static pthread_mutex_t lock;

static void *user(void *arg)
{
	CHECK(!pthread_mutex_lock(&lock) && !pthread_mutex_unlock(&lock)); /* RACE: object */
	tell(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_mutex_init(&lock, NULL);
	t = start(user);
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	pthread_mutex_destroy(&lock); /* RACE: object */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
