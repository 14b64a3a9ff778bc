// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timer that one thread sets and another thread waits for.
 * tsan: no, because for it setting a timer releases nothing
 */
#include <sys/timerfd.h>

#include "races.h"

static int ends[2], value;

static void *giver(void *arg)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };

	nap();
	RIGHT_ONLY(value = 1);
	CHECK(!timerfd_settime(ends[0], 0, &soon, NULL));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	uint64_t count;

	CHECK(read(ends[0], &count, sizeof(count)) == sizeof(count));
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	ends[0] = timerfd_create(CLOCK_MONOTONIC, 0);
	return both(giver, taker);
}
