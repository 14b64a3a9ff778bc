// SPDX-License-Identifier: GPL-2.0-or-later
/* Read and write locks that time out order nothing. */
#include "races.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int counter;

static void *first(void *arg)
{
	pthread_rwlock_wrlock(&lock);
	tell(1);
	await(2);
	counter++; /* RACE: counter variable=counter */
	pthread_rwlock_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	struct timespec soon, late;

	await(1);
	soon = later(10);
	CHECK(pthread_rwlock_timedrdlock(&lock, &soon) == ETIMEDOUT);
	CHECK(pthread_rwlock_timedwrlock(&lock, &soon) == ETIMEDOUT);
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
	late = later(60000);
	CHECK(!pthread_rwlock_timedwrlock(&lock, &late));
	RIGHT_ONLY(counter++);
	pthread_rwlock_unlock(&lock);
	return arg;
}

int main(void)
{
	return both(first, second);
}
