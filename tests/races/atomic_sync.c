// SPDX-License-Identifier: GPL-2.0-or-later
/* A lock by __sync_lock_test_and_set and __sync_lock_release, which is a plain move. */
#include "races.h"

static int lock, counter;

static void *first(void *arg)
{
	while (__sync_lock_test_and_set(&lock, 1))
		nap();
	counter++; /* RACE: counter variable=counter */
	__sync_lock_release(&lock);
	return arg;
}

static void *second(void *arg)
{
	nap();
	RIGHT_ONLY(while (__sync_lock_test_and_set(&lock, 1)) nap());
	counter++; /* RACE: counter */
	RIGHT_ONLY(__sync_lock_release(&lock));
	return arg;
}

int main(void)
{
	return both(first, second);
}
