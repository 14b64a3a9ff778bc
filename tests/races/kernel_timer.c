// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A POSIX timer that one thread sets and whose signal another thread waits for.
 * tsan: no, because for it setting a timer releases nothing
 */
#include <signal.h>

#include "races.h"

static timer_t timer;
static sigset_t set;
static int value;

static void *giver(void *arg)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };

	RIGHT_ONLY(value = 1);
	CHECK(!timer_settime(timer, 0, &soon, NULL));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	int number;

	CHECK(!sigwait(&set, &number));
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	return both(giver, taker);
}
