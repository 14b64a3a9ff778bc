// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread closes a descriptor to which another thread has just written. */
#include <semaphore.h>

#include "races.h"

static sem_t done;
static int ends[2];

static void *user(void *arg)
{
	CHECK(write(ends[1], "x", 1) == 1); /* RACE: descriptor */
	sem_post(&done);
	tell(1);
	return arg;
}

static void *owner(void *arg)
{
	await(1);
	RIGHT_ONLY(sem_wait(&done));
	CHECK(!close(ends[1])); /* RACE: descriptor */
	return arg;
}

int main(void)
{
	sem_init(&done, 0, 0);
	CHECK(!pipe(ends));
	return both(user, owner);
}
