// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dekker's algorithm: each thread sets its flag, executes a full fence, and reads the other's flag;
 * it enters if that is not set.
 * tsan: no, because it does not know fences
 */
#include <stdatomic.h>

#include "races.h"

static atomic_int wants[2];
static int counter;

static void lock(int me)
{
	for (;;) {
		atomic_store_explicit(&wants[me], 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		if (!atomic_load_explicit(&wants[!me], memory_order_acquire))
			return;
		atomic_store_explicit(&wants[me], 0, memory_order_relaxed);
		usleep(1000 * (1 + me));
	}
}

static void unlock(int me)
{
	atomic_store_explicit(&wants[me], 0, memory_order_release);
}

static void *first(void *arg)
{
	lock(0);
	RIGHT_ONLY(counter++);
	unlock(0);
	RACY_ONLY(counter++); /* RACE: counter variable=counter */
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	lock(1);
	counter++; /* RACE: counter */
	unlock(1);
	return arg;
}

int main(void)
{
	return both(first, second);
}
