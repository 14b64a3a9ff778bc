// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child of vfork writes into its parent's memory, and the parent goes on after it; in the
 * racy one another thread does not.
 * tsan: no, because it takes the child for a process of its own
 */
#include "races.h"

static volatile int value;

static void *forks(void *arg)
{
	pid_t pid;

	await(1);
	pid = vfork();
	if (!pid) {
		value = 1; /* RACE: value variable=value */
		_exit(0);
	}
	CHECK(pid > 0);
	USE(value);
	tell(2);
	return arg;
}

static void *other(void *arg)
{
	tell(1);
	await(2);
	RACY_ONLY(USE(value)); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(forks, other);
}
