// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pointer and a count that are exchanged together, by cmpxchg16b.
 * Flags: -mcx16
 */
#include "races.h"

static unsigned __int128 pair __attribute__((aligned(16)));
static int value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	__sync_bool_compare_and_swap(&pair, 0, (unsigned __int128)1 << 64 | 1);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	while (!__sync_bool_compare_and_swap(&pair, (unsigned __int128)1 << 64 | 1, 2))
		nap();
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
