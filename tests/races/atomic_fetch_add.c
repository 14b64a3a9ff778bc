// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A counter that one thread adds to without the lock prefix.
 * tsan: right only, because the compiler does not see what an instruction does
 */
#include "races.h"

static int counter;

static void *first(void *arg)
{
	__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); /* RACE: counter variable=counter */
	return arg;
}

static void *second(void *arg)
{
	nap();
	RACY_ONLY(__asm__ volatile("incl %0" : "+m"(counter))); /* RACE: counter */
	RIGHT_ONLY(__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
	return arg;
}

int main(void)
{
	return both(first, second);
}
