// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flag that only loads and stores access, and a thread that reads it repeatedly and sleeps in
 * between.
 */
#include "races.h"

static int flag, value;

static void *giver(void *arg)
{
	int i;

	await(1);
	for (i = 0; i < 20; i++)
		nap();
	RIGHT_ONLY(value = 1);
	__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	tell(2);
	return arg;
}

static void *taker(void *arg)
{
	tell(1);
	while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
		usleep(1000);
	await(2);
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
