// SPDX-License-Identifier: GPL-2.0-or-later
/* A read from a pipe comes after the write of its bytes. */
#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;
static int ends[2];

static void *first(void *arg)
{
	value = 1; /* RACE: value variable=value */
	CHECK(write(ends[1], "x", 1) == 1);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	RIGHT_ONLY(char c);

	usleep(100000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	RIGHT_ONLY(CHECK(read(ends[0], &c, 1) == 1));
	value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(first, second);
}
