// SPDX-License-Identifier: GPL-2.0-or-later
/* Each thread has a mutex, but not the same one. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t another = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	counter++; /* RACE: counter variable=counter */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	pthread_mutex_t *mine = &another;

	RIGHT_ONLY(mine = &lock);
	nap();
	pthread_mutex_lock(mine);
	counter++; /* RACE: counter */
	pthread_mutex_unlock(mine);
	return arg;
}

int main(void)
{
	return both(first, second);
}
