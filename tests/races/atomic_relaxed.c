// SPDX-License-Identifier: GPL-2.0-or-later
/* Relaxed loads and stores of an atomic do not race with each other; those of an int do. */
#include <stdatomic.h>

#include "races.h"

#ifdef RACY
static int number;
#define SET(v)	(number = (v))
#define GET()	number
#else
static atomic_int number;
#define SET(v)	atomic_store_explicit(&number, v, memory_order_relaxed)
#define GET()	atomic_load_explicit(&number, memory_order_relaxed)
#endif

static void *first(void *arg)
{
	SET(1); /* RACE: number variable=number */
	return arg;
}

static void *second(void *arg)
{
	nap();
	USE(GET()); /* RACE: number */
	return arg;
}

int main(void)
{
	return both(first, second);
}
