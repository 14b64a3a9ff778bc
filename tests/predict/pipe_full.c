// SPDX-License-Identifier: GPL-2.0-or-later
/* A write to a full pipe comes after the read that makes room. */
#include <fcntl.h>

#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;
static char page[4096];
static int ends[2];

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	CHECK(read(ends[0], page, sizeof(page)) == sizeof(page));
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	usleep(100000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	RIGHT_ONLY(CHECK(write(ends[1], "x", 1) == 1));
	value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, sizeof(page)) == sizeof(page));
	CHECK(write(ends[1], page, sizeof(page)) == sizeof(page));
	return both(first, second);
}
