// SPDX-License-Identifier: GPL-2.0-or-later
/* Read and write locks that are refused order nothing. */
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
	await(1);
	CHECK(pthread_rwlock_tryrdlock(&lock) == EBUSY);
	CHECK(pthread_rwlock_trywrlock(&lock) == EBUSY);
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
#ifndef RACY
	while (pthread_rwlock_trywrlock(&lock))
		nap();
	counter++;
	pthread_rwlock_unlock(&lock);
#endif
	return arg;
}

int main(void)
{
	return both(first, second);
}
