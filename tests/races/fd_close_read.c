// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread closes a descriptor from which another thread has just read. */
#include <semaphore.h>

#include "races.h"

static sem_t done;
static int ends[2];

static void *user(void *arg)
{
	CHECK(read(ends[0], &(char){ 0 }, 1) == 1); /* RACE: descriptor */
	sem_post(&done);
	tell(1);
	return arg;
}

static void *owner(void *arg)
{
	await(1);
	RIGHT_ONLY(sem_wait(&done));
	CHECK(!close(ends[0])); /* RACE: descriptor */
	return arg;
}

int main(void)
{
	sem_init(&done, 0, 0);
	CHECK(!pipe(ends));
	CHECK(write(ends[1], "0123456789abcdef", 16) == 16);
	return both(user, owner);
}
