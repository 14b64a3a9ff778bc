// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another process orders two threads, which access memory that is private to their process.
 * tsan: no, because it does not see that two processes have memory in common
 */
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "races.h"

struct common {
	sem_t there, back;
};

static struct common *common;
static int value;

static void *giver(void *arg)
{
	RIGHT_ONLY(value = 1);
	sem_post(&common->there);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	sem_wait(&common->back);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	CHECK(common != MAP_FAILED);
	sem_init(&common->there, 1, 0);
	sem_init(&common->back, 1, 0);
	if (!fork()) {
		sem_wait(&common->there);
		sem_post(&common->back);
		_exit(0);
	}
	both(giver, taker);
	CHECK(wait(NULL) > 0);
	return 0;
}
