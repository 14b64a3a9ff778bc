// SPDX-License-Identifier: GPL-2.0-or-later
/* Release and acquire by moves on a word of a plain type that locked operations use, too. */
#include "races.h"

static int users, value;

static void *giver(void *arg)
{
	__atomic_fetch_add(&users, 1, __ATOMIC_RELAXED);
	RIGHT_ONLY(value = 1);
	__atomic_store_n(&users, 0, __ATOMIC_RELEASE);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	tell(1);
	return arg;
}

static void *taker(void *arg)
{
	await(1);
	if (!__atomic_load_n(&users, __ATOMIC_ACQUIRE))
		USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
