// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flag with an atomic store and a plain load, both of them moves: the atomic store does not make
 * the load correct. The same line has an atomic load of something else.
 */
#include "races.h"

static int flag, other;

#ifdef RACY
static int look(void)
{
	return __atomic_load_n(&other, __ATOMIC_ACQUIRE) + flag; /* RACE: flag */
}
#else
static int look(void)
{
	return __atomic_load_n(&other, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&flag, __ATOMIC_ACQUIRE); /* UNLESS ATOMIC: flag */
}
#endif

static void *giver(void *arg)
{
	__atomic_store_n(&flag, 1, __ATOMIC_RELEASE); /* RACE: flag variable=flag */
	return arg;
}

static void *taker(void *arg)
{
	nap();
	USE(look());
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
