// SPDX-License-Identifier: GPL-2.0-or-later
/* A failed trylock of a spin lock orders nothing. */
#include "races.h"

static pthread_spinlock_t lock;
static int counter;

static void *first(void *arg)
{
	pthread_spin_lock(&lock);
	tell(1);
	await(2);
	counter++; /* RACE: counter variable=counter */
	pthread_spin_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	CHECK(pthread_spin_trylock(&lock) == EBUSY);
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
#ifndef RACY
	while (pthread_spin_trylock(&lock))
		nap();
	counter++;
	pthread_spin_unlock(&lock);
#endif
	return arg;
}

int main(void)
{
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	return both(first, second);
}
