// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child of vfork writes to its parent's memory, and the parent continues after it; in the racy
 * variant another thread does not wait.
 * tsan: no, because it takes the child for a separate process
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
