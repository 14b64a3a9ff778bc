// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A signal to the process, handled by the only thread that does not block it.
 * tsan: racy only, because for it a signal releases nothing
 */
#include <signal.h>

#include "races.h"

static int value;
static __thread volatile sig_atomic_t handled;

static void handler(int number)
{
	USE(number);
	USE(value); /* RACE: value variable=value */
	handled = 1;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

static void *taker(void *arg)
{
	handled = 0;
	block(SIG_UNBLOCK);
	tell(1);
	while (!handled)
		nap();
	return arg;
}

static void *giver(void *arg)
{
	await(1);
	RIGHT_ONLY(value = 1);
	kill(getpid(), SIGUSR1);
	RACY_ONLY(nap());
	RACY_ONLY(value = 1); /* RACE: value */
	return arg;
}

int main(void)
{
	signal(SIGUSR1, handler);
	block(SIG_BLOCK);
	return both(giver, taker);
}
