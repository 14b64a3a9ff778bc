// SPDX-License-Identifier: GPL-2.0-or-later
/* An exchange releases earlier writes, not later ones. */
#include "races.h"

static int flag, value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	__atomic_exchange_n(&flag, 1, __ATOMIC_ACQ_REL);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	while (!__atomic_exchange_n(&flag, 0, __ATOMIC_ACQ_REL))
		nap();
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
