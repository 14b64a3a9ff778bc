// SPDX-License-Identifier: GPL-2.0-or-later
/* A lock made of C11's atomic_flag. */
#include <stdatomic.h>

#include "races.h"

static atomic_flag lock = ATOMIC_FLAG_INIT;
static int counter;

static void *first(void *arg)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		nap();
	counter++; /* RACE: counter variable=counter */
	atomic_flag_clear_explicit(&lock, memory_order_release);
	return arg;
}

static void *second(void *arg)
{
	nap();
	RIGHT_ONLY(while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) nap());
	counter++; /* RACE: counter */
	RIGHT_ONLY(atomic_flag_clear_explicit(&lock, memory_order_release));
	return arg;
}

int main(void)
{
	return both(first, second);
}
