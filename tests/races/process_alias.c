// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One file mapped twice in one process: two addresses of the same word.
 * tsan: no, because for it they are two words
 */
#include <sys/mman.h>

#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *one, *two;

static void *first(void *arg)
{
	pthread_mutex_lock(&lock);
	one[7] = 1; /* RACE: word */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	nap();
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	USE(two[7]); /* RACE: word */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	int fd = memfd_create("shared", 0);

	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	two = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(one != MAP_FAILED && two != MAP_FAILED);
	return both(first, second);
}
