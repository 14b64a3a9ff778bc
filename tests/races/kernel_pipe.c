// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that reads from a pipe is ordered after everything before the write. */
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
	char byte;

	CHECK(read(ends[0], &byte, 1) == 1);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(giver, taker);
}
