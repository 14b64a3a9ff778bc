// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that frees a block must know that no other thread uses it any more. */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *block;
static volatile int users = 2;

static int leave(void)
{
	int left;

	pthread_mutex_lock(&lock);
	RIGHT_ONLY(users--);
	left = users;
	pthread_mutex_unlock(&lock);
	return left;
}

static void *first(void *arg)
{
	*block = 1; /* RACE: block */
	leave();
	return arg;
}

static void *second(void *arg)
{
	int left;

	usleep(100000);
	left = leave();
	USE(left);
	RIGHT_ONLY(if (!left))
		free(block); /* RACE: block */
	return arg;
}

int main(void)
{
	block = calloc(4, sizeof(*block));
	return both(first, second);
}
