// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A handler does not race with the thread that it interrupts, but with other threads.
 * tsan: right only, because of two accesses by one thread it keeps the last
 */
#include <signal.h>

#include "races.h"

static int counter;

static void handler(int number)
{
	USE(number);
	counter++; /* RACE: handler variable=counter */
}

static void *interrupted(void *arg)
{
	counter++; /* RACE: thread variable=counter */
	raise(SIGUSR1);
	return arg;
}

static void *other(void *arg)
{
	nap();
	RACY_ONLY(counter++); /* RACE: handler, thread */
	return arg;
}

int main(void)
{
	signal(SIGUSR1, handler);
	return both(interrupted, other);
}
