// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A write to a pipe lets other threads continue: the same accesses after it are not ordered.
 * tsan: no, because it does not know of system calls that are made without their functions
 */
#include "races.h"

static int ends[2], back[2], value;

static void *giver(void *arg)
{
	char byte;

	/* Looking up a function takes a lock, and so does write(). */
	CHECK(syscall(SYS_gettid) > 0);
	nap();
	value = 1;
	CHECK(syscall(SYS_write, ends[1], "x", 1) == 1);
	RIGHT_ONLY(CHECK(read(back[0], &byte, 1) == 1));
	value = 2; /* RACE: value variable=value */
	RACY_ONLY(CHECK(read(back[0], &byte, 1) == 1));
	return arg;
}

static void *taker(void *arg)
{
	char byte;

	CHECK(read(ends[0], &byte, 1) == 1);
	nap();
	USE(value); /* RACE: value */
	CHECK(write(back[1], "y", 1) == 1);
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends) && !pipe(back));
	return both(giver, taker);
}
