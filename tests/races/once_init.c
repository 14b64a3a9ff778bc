// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that calls pthread_once is ordered after the routine, even if another thread ran it. */
#include "races.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int value;

static void init(void)
{
	value = 1; /* RACE: value variable=value */
}

static void *first(void *arg)
{
	pthread_once(&once, init);
	USE(value);
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	RIGHT_ONLY(pthread_once(&once, init));
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(first, second);
}
