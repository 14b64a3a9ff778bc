// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One write races with all earlier accesses: reads by two threads, two reads in one of them, and
 * enough other accesses in between to fill any limited history.
 * tsan: right only, because of several accesses it names one
 */
#include <string.h>

#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
static char elsewhere[4096];

static NOINLINE void much(void)
{
	int i;

	for (i = 0; i < 100; i++)
		memset(elsewhere, i, sizeof(elsewhere));
	USE(elsewhere);
}

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	USE(value); /* RACE: early variable=value */
	much();
	USE(value); /* RACE: middle */
	much();
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	pthread_mutex_lock(&lock);
	much();
	USE(value); /* RACE: late */
	much();
	pthread_mutex_unlock(&lock);
	tell(2);
	return arg;
}

static void *writer(void *arg)
{
	await(2);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	value = 1; /* RACE: early, middle, late */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	pthread_t t = start(writer);

	both(first, second);
	pthread_join(t, NULL);
	return 0;
}
