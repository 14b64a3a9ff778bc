// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One store and one load of a plain type: moves, atomic or not, and nothing in the program to go
 * by. In the right one the source says that they are, so it is left alone or said to hold unless
 * that is true.
 */
#include "races.h"

static int flag;

#ifdef RACY
static void give(void)
{
	flag = 1; /* RACE: flag variable=flag */
}

static void take(void)
{
	USE(flag); /* RACE: flag */
}
#else
static void give(void)
{
	__atomic_store_n(&flag, 1, __ATOMIC_RELAXED); /* UNLESS ATOMIC: flag */
}

static void take(void)
{
	int value = __atomic_load_n(&flag, __ATOMIC_RELAXED); /* UNLESS ATOMIC: flag */

	USE(value);
}
#endif

static void *giver(void *arg)
{
	give();
	return arg;
}

static void *taker(void *arg)
{
	nap();
	take();
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
