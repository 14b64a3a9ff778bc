// SPDX-License-Identifier: GPL-2.0-or-later
/* A failed compare-and-exchange reads and does not write, so it releases nothing. */
#include "races.h"

static _Atomic int flag;
static int value;

static void *giver(void *arg)
{
	int expected = RACY_ONLY(7) RIGHT_ONLY(0);

	await(1);
	value = 1; /* RACE: value variable=value */
	__atomic_compare_exchange_n(&flag, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	tell(2);
	return arg;
}

static void *taker(void *arg)
{
	int expected = 1;

	tell(1);
	await(2);
	__atomic_compare_exchange_n(&flag, &expected, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
