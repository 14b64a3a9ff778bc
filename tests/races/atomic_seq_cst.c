// SPDX-License-Identifier: GPL-2.0-or-later
/* Sequentially consistent stores, by xchg or with a fence, and loads that are plain moves. */
#include <stdatomic.h>

#include "races.h"

static atomic_int flag;
static int value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	atomic_store(&flag, 1);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	while (!atomic_load(&flag))
		nap();
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
