// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A condition is destroyed while a thread waits that nobody has woken; who has been may still be
 * in there.
 * tsan: right only, because it knows that somebody waited, and not that somebody still does
 */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting;

static void *waiter(void *arg)
{
	struct timespec until = later(400);

	pthread_mutex_lock(&lock);
	waiting = 1;
	pthread_cond_timedwait(&cond, &lock, &until); /* RACE: cond variable=cond */
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t t = start(waiter);
	int is = 0;

	while (!is) {
		nap();
		pthread_mutex_lock(&lock);
		is = waiting;
		RIGHT_ONLY(pthread_cond_broadcast(&cond));
		pthread_mutex_unlock(&lock);
	}
	/* it returns when nobody is in there */
	pthread_cond_destroy(&cond); /* RACE: cond */
	pthread_join(t, NULL);
	return 0;
}
