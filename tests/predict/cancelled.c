// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that is cancelled while it waits for a condition holds the lock again in its cleanup
 * handlers.
 */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t there = PTHREAD_COND_INITIALIZER;
static volatile int value;

static void leave(void *arg)
{
	RIGHT_ONLY(value = 1);
	pthread_mutex_unlock(&lock);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	(void)arg;
}

static void *waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(leave, NULL);
	for (;;)
		pthread_cond_wait(&there, &lock);
	pthread_cleanup_pop(0);
	return arg;
}

static void *reader(void *arg)
{
	usleep(200000);
	pthread_mutex_lock(&lock);
	USE(value); /* RACE: value */
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t first = start(waiter), second = start(reader);

	usleep(100000);
	pthread_cancel(first);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
