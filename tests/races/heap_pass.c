// SPDX-License-Identifier: GPL-2.0-or-later
/* A block is passed to another thread through a queue; the racy sender writes to it afterwards. */
#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int *queue;

static void *giver(void *arg)
{
	int *block = malloc(2 * sizeof(*block));

	block[0] = 1;
	RIGHT_ONLY(block[1] = 2);
	pthread_mutex_lock(&lock);
	queue = block;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	RACY_ONLY(block[1] = 2); /* RACE: block */
	tell(1);
	return arg;
}

static void *taker(void *arg)
{
	int *block;

	pthread_mutex_lock(&lock);
	while (!queue)
		pthread_cond_wait(&cond, &lock);
	block = queue;
	pthread_mutex_unlock(&lock);
	await(1);
	USE(block[0]);
	USE(block[1]); /* RACE: block */
	RIGHT_ONLY(free(block));
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
