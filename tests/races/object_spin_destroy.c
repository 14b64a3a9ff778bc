// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread destroys a spin lock that another thread may be using. */
#include "races.h"

static pthread_spinlock_t lock;

static void *user(void *arg)
{
	CHECK(!pthread_spin_lock(&lock) && !pthread_spin_unlock(&lock)); /* RACE: object */
	tell(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_spin_init(&lock, 0);
	t = start(user);
	RIGHT_ONLY(pthread_join(t, NULL));
	await(1);
	pthread_spin_destroy(&lock); /* RACE: object */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
