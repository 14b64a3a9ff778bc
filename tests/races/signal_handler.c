// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A handler that runs because of another thread's pthread_kill is ordered after it.
 * tsan: racy only, because for it a signal releases nothing
 */
#include <signal.h>

#include "races.h"

static pthread_t target;
static int value;
static __thread volatile sig_atomic_t handled;

static void handler(int number)
{
	USE(number);
	USE(value); /* RACE: value variable=value */
	handled = 1;
}

static void *taker(void *arg)
{
	handled = 0;
	tell(1);
	while (!handled)
		nap();
	/* pthread_kill() and the end of its target take the same lock */
	await(2);
	return arg;
}

static void *giver(void *arg)
{
	await(1);
	RIGHT_ONLY(value = 1);
	pthread_kill(target, SIGUSR1);
	RACY_ONLY(nap());
	RACY_ONLY(value = 1); /* RACE: value */
	tell(2);
	return arg;
}

int main(void)
{
	signal(SIGUSR1, handler);
	target = start(taker);
	pthread_join(start(giver), NULL);
	pthread_join(target, NULL);
	return 0;
}
