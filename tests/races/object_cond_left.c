// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread is cancelled while it waits for a condition, and reports when it leaves the lock; then
 * another thread destroys the condition, in the racy variant without waiting for the report.
 * tsan: right only, because it knows that a thread waited, but not that it still does
 */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, left;

static void leave(void *arg)
{
	left = 1;
	pthread_mutex_unlock(&lock);
	/* it takes a while to end */
	usleep(100000);
	(void)arg;
}

static void *waiter(void *arg)
{
	struct timespec until = later(400);

	pthread_mutex_lock(&lock);
	waiting = 1;
	pthread_cleanup_push(leave, NULL);
	for (;;)
		pthread_cond_timedwait(&cond, &lock, &until); /* RACE: cond variable=cond */
	pthread_cleanup_pop(0);
	return arg;
}

static int look(const int *flag)
{
	int is;

	nap();
	pthread_mutex_lock(&lock);
	is = *flag;
	pthread_mutex_unlock(&lock);
	return is;
}

int main(void)
{
	pthread_t t = start(waiter);

	while (!look(&waiting))
		;
	RIGHT_ONLY(pthread_cancel(t));
	RIGHT_ONLY(while (!look(&left));)
	pthread_cond_destroy(&cond); /* RACE: cond */
	RACY_ONLY(pthread_cancel(t));
	pthread_join(t, NULL);
	return 0;
}
