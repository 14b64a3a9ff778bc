// SPDX-License-Identifier: GPL-2.0-or-later
/* Who frees a block has to know that nobody uses it any more. */
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
