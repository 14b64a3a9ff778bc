// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each thread has its own thread-local variable, until another thread gets its address.
 * tsan: right only, because for it the beginning of a thread writes to its thread-local variables
 */
#include "races.h"

static __thread int mine;

static void *first(void *arg)
{
	mine = 1; /* RACE: mine */
	tell((uintptr_t)&mine);
	await(1);
	return arg;
}

static void *second(void *arg)
{
	int *number = &mine;

	hear(NOTHING);
	RACY_ONLY(number = (int *)told());
	nap();
	*number = 2; /* RACE: mine */
	tell(1);
	return arg;
}

int main(void)
{
	return both(first, second);
}
