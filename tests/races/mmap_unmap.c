// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread unmaps a page to which another thread has just written.
 * tsan: right only, because an unmapping is no access to it
 */
#include <sys/mman.h>

#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *page;

static void *user(void *arg)
{
	pthread_mutex_lock(&lock);
	page[1] = 1; /* RACE: page */
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *owner(void *arg)
{
	await(1);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	munmap(page, 4096); /* RACE: page */
	return arg;
}

int main(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	return both(user, owner);
}
