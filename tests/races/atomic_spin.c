// SPDX-License-Identifier: GPL-2.0-or-later
/* A flag of a plain type, stored and awaited by moves: only the loop shows the synchronisation. */
#include "races.h"

static int flag, value;

static void *giver(void *arg)
{
	await(1);
	/* makes sure that it loops, even on a busy machine */
	usleep(50000);
	RIGHT_ONLY(value = 1);
	__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
	nap();
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	tell(1);
	while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
		;
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
