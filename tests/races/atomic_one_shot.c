// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One store and one load of a plain type: moves, atomic or not, and nothing in the program shows
 * which. In the correct variant the source says that they are atomic, so the race is dropped or
 * reported as conditional.
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
