// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dup2() replaces a descriptor, atomically, to which another thread has just written; the racy
 * variant closes it before.
 */
#include "races.h"

static int ends[2];

static void *user(void *arg)
{
	CHECK(write(ends[1], "x", 1) == 1); /* RACE: descriptor */
	tell(1);
	return arg;
}

static void *owner(void *arg)
{
	await(1);
	RACY_ONLY(CHECK(!close(ends[1]))); /* RACE: descriptor */
	CHECK(dup2(2, ends[1]) == ends[1]);
	return arg;
}

int main(void)
{
	CHECK(!pipe(ends));
	return both(user, owner);
}
