// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader without the lock that the writer holds. */
#include "races.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *writer(void *arg)
{
	pthread_rwlock_wrlock(&lock);
	value = 1; /* RACE: value variable=value */
	pthread_rwlock_unlock(&lock);
	return arg;
}

static void *reader(void *arg)
{
	nap();
	RIGHT_ONLY(pthread_rwlock_rdlock(&lock));
	USE(value); /* RACE: value */
	RIGHT_ONLY(pthread_rwlock_unlock(&lock));
	return arg;
}

int main(void)
{
	return both(writer, reader);
}
