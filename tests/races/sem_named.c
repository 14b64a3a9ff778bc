// SPDX-License-Identifier: GPL-2.0-or-later
/* A named semaphore that was opened twice is one semaphore. */
#include <fcntl.h>
#include <semaphore.h>

#include "races.h"

static sem_t *ours, *theirs;
static int value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	sem_post(ours);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	CHECK(!sem_wait(theirs));
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	char name[64];

	snprintf(name, sizeof(name), "/adept-races-%d", (int)getpid());
	ours = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	CHECK(ours != SEM_FAILED);
	theirs = sem_open(name, 0);
	CHECK(theirs != SEM_FAILED);
	sem_unlink(name);
	return both(giver, taker);
}
