// SPDX-License-Identifier: GPL-2.0-or-later
/* Two threads that hold a lock for reading are not ordered, and must not write. */
#include "races.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int counter;

static void take(void)
{
	RACY_ONLY(pthread_rwlock_rdlock(&lock));
	RIGHT_ONLY(pthread_rwlock_wrlock(&lock));
}

static void *first(void *arg)
{
	take();
	counter++; /* RACE: counter variable=counter */
	pthread_rwlock_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	nap();
	take();
	counter++; /* RACE: counter */
	pthread_rwlock_unlock(&lock);
	return arg;
}

int main(void)
{
	return both(first, second);
}
