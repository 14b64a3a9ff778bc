// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread destroys a read-write lock that another thread may be using. */
#include "races.h"

static pthread_rwlock_t lock;

static void *user(void *arg)
{
	CHECK(!pthread_rwlock_rdlock(&lock) && !pthread_rwlock_unlock(&lock)); /* RACE: object */
	tell(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_rwlock_init(&lock, NULL);
	t = start(user);
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	pthread_rwlock_destroy(&lock); /* RACE: object */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
