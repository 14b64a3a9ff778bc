// SPDX-License-Identifier: GPL-2.0-or-later
/* One of two threads changes a counter without the spin lock. */
#include "races.h"

static pthread_spinlock_t lock;
static int counter;

static void *first(void *arg)
{
	pthread_spin_lock(&lock);
	counter++; /* RACE: counter variable=counter */
	pthread_spin_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	nap();
	RIGHT_ONLY(pthread_spin_lock(&lock));
	counter++; /* RACE: counter */
	RIGHT_ONLY(pthread_spin_unlock(&lock));
	return arg;
}

int main(void)
{
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	return both(first, second);
}
