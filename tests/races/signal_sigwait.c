// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sigwait takes a signal that another thread sent, and is ordered after it.
 * tsan: racy only, because for it a signal that is waited for releases nothing
 */
#include <signal.h>

#include "races.h"

static sigset_t set;
static pthread_t target;
static int value;

static void *taker(void *arg)
{
	int number;

	CHECK(!sigwait(&set, &number));
	nap();
	USE(value); /* RACE: value variable=value */
	return arg;
}

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	pthread_kill(target, SIGUSR1);
	RACY_ONLY(value = 1); /* RACE: value */
	return arg;
}

int main(void)
{
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	target = start(taker);
	pthread_join(start(giver), NULL);
	pthread_join(target, NULL);
	return 0;
}
