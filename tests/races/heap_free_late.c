// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread uses a block that another thread frees, without any order. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *block;

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
	free(block); /* RACE: block */
	return arg;
}

int main(void)
{
	block = calloc(4, sizeof(*block));
	return both(user, owner);
}
