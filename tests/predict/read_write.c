// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader that writes to shared data, ordered by a writer's lock in between. */
#include "../races/races.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int hits, table;

static void hit(void)
{
	RACY_ONLY(pthread_rwlock_rdlock(&lock));
	RIGHT_ONLY(pthread_rwlock_wrlock(&lock));
	hits++; /* RACE: hits variable=hits */
	pthread_rwlock_unlock(&lock);
}

static void *first(void *arg)
{
	hit();
	return arg;
}

static void *second(void *arg)
{
	usleep(100000);
	pthread_rwlock_wrlock(&lock);
	table = 1;
	pthread_rwlock_unlock(&lock);
	hit();
	return arg;
}

int main(void)
{
	return both(first, second);
}
