// SPDX-License-Identifier: GPL-2.0-or-later
/* Two threads with different locks, and a third lock that orders them by chance. */
#include "../races/races.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value, lines;

static void *first(void *arg)
{
	pthread_mutex_lock(&a);
	value++; /* RACE: value variable=value */
	pthread_mutex_unlock(&a);
	pthread_mutex_lock(&log_lock);
	lines = 1;
	pthread_mutex_unlock(&log_lock);
	return arg;
}

static void *second(void *arg)
{
	pthread_mutex_t *mine = &a;

	RACY_ONLY(mine = &b);
	usleep(100000);
	pthread_mutex_lock(&log_lock);
	lines = 2;
	pthread_mutex_unlock(&log_lock);
	pthread_mutex_lock(mine);
	value++; /* RACE: value */
	pthread_mutex_unlock(mine);
	return arg;
}

int main(void)
{
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	return both(first, second);
}
