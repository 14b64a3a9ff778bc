// SPDX-License-Identifier: GPL-2.0-or-later
/* realloc moves a block to which another thread writes. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *block, *moved;

static void *user(void *arg)
{
	pthread_mutex_lock(&lock);
	block[1] = 1; /* RACE: block */
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *owner(void *arg)
{
	await(1);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	moved = realloc(block, 100000); /* RACE: block */
	return arg;
}

int main(void)
{
	void *after;

	block = calloc(4, sizeof(*block));
	/* so that it cannot grow in place */
	after = malloc(16);
	USE(after);
	return both(user, owner);
}
