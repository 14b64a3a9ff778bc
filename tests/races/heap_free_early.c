// SPDX-License-Identifier: GPL-2.0-or-later
/* A block is freed and then used by another thread. */
#include <semaphore.h>

#include "races.h"

static sem_t done;
static int *block;

static void *user(void *arg)
{
	RACY_ONLY(await(1));
	block[1] = 1; /* RACE: block */
	sem_post(&done);
	return arg;
}

static void *owner(void *arg)
{
	RIGHT_ONLY(sem_wait(&done));
	free(block); /* RACE: block */
	tell(1);
	return arg;
}

int main(void)
{
	sem_init(&done, 0, 0);
	block = calloc(4, sizeof(*block));
	return both(user, owner);
}
