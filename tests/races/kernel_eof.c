// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a pipe, which a reader sees because another thread closed the pipe.
 * tsan: no, because for it a close releases nothing
 */
#include "races.h"

static int ends[2], value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	CHECK(!close(ends[1]));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	char byte;

	CHECK(read(ends[0], &byte, 1) == 0);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(giver, taker);
}
