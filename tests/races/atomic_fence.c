// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Relaxed accesses with fences around them, which need no instruction.
 * tsan: no, because it does not know fences
 */
#include <stdatomic.h>

#include "races.h"

static atomic_int flag;
static int value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&flag, 1, memory_order_relaxed);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	while (!atomic_load_explicit(&flag, memory_order_relaxed))
		nap();
	atomic_thread_fence(memory_order_acquire);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	return both(giver, taker);
}
