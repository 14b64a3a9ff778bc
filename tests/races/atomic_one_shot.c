// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One store and one load of a plain type: moves, atomic or not, and nothing else to go by.
 * A report must say that it holds unless they are atomic, which the right one's are.
 */
#include "races.h"

static int flag;

static void *giver(void *arg)
{
	RACY_ONLY(flag = 1); /* RACE: flag variable=flag */
	RIGHT_ONLY(__atomic_store_n(&flag, 1, __ATOMIC_RELAXED)); /* UNLESS ATOMIC: flag */
	return arg;
}

static void *taker(void *arg)
{
	nap();
	RACY_ONLY(USE(flag)); /* RACE: flag */
	RIGHT_ONLY(USE(__atomic_load_n(&flag, __ATOMIC_RELAXED))); /* UNLESS ATOMIC: flag */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
