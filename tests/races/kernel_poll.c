// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * poll reports that a pipe can be read, without reading it.
 * tsan: no, because for it a poll acquires nothing
 */
#include <poll.h>

#include "races.h"

static int ends[2], value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	CHECK(write(ends[1], "x", 1) == 1);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	struct pollfd wanted = { .fd = ends[0], .events = POLLIN };

	CHECK(poll(&wanted, 1, -1) == 1);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(giver, taker);
}
