// SPDX-License-Identifier: GPL-2.0-or-later
/* A release store and an acquire load: two plain moves, whose type says that they are atomic. */
#include <stdatomic.h>

#include "races.h"

static atomic_int flag;
static int value;

static void *giver(void *arg)
{
	RIGHT_ONLY(value = 1);
	atomic_store_explicit(&flag, 1, memory_order_release);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	tell(1);
	return arg;
}

static void *taker(void *arg)
{
	await(1);
	if (atomic_load_explicit(&flag, memory_order_acquire))
		USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
