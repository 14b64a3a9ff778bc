// SPDX-License-Identifier: GPL-2.0-or-later
/* As section.c, with a spin lock. */
#include "../races/races.h"

static pthread_spinlock_t lock;
static volatile int value, done, other;

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	pthread_spin_lock(&lock);
	done++;
	pthread_spin_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	usleep(100000);
	pthread_spin_lock(&lock);
	RACY_ONLY(other++);
	RIGHT_ONLY(done++);
	pthread_spin_unlock(&lock);
	value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	return both(first, second);
}
