// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel fills a structure that another thread reads.
 * tsan: right only, because it does not know that fstat writes
 */
#include <sys/stat.h>

#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static struct stat buffer;

static void *caller(void *arg)
{
	pthread_mutex_lock(&lock);
	CHECK(!fstat(ends[0], &buffer)); /* RACE: buffer variable=buffer */
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *user(void *arg)
{
	await(1);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	USE(buffer.st_mode); /* RACE: buffer */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(caller, user);
}
