// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipe orders by the bytes that pass through it: those of another pipe come from another thread.
 */
#include "races.h"

static int ours[2], another[2], value;

static void *giver(void *arg)
{
	value = 1; /* RACE: value variable=value */
	CHECK(write(ours[1], "x", 1) == 1);
	tell(1);
	return arg;
}

static void *taker(void *arg)
{
	int *from = RACY_ONLY(another) RIGHT_ONLY(ours);
	char byte;

	await(1);
	CHECK(read(from[0], &byte, 1) == 1);
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!pipe(ours) && !pipe(another));
	CHECK(write(another[1], "y", 1) == 1);
	return both(giver, taker);
}
