// SPDX-License-Identifier: GPL-2.0-or-later
/* A sequence lock: the protected data must be atomic itself, since readers may see it change. */
#include <stdatomic.h>

#include "races.h"

static atomic_uint sequence;
#ifdef RACY
static int value;
#define SET(v)	(value = (v))
#define GET()	value
#else
static atomic_int value;
#define SET(v)	atomic_store_explicit(&value, v, memory_order_release)
#define GET()	atomic_load_explicit(&value, memory_order_acquire)
#endif

static void *writer(void *arg)
{
	await(1);
	atomic_fetch_add(&sequence, 1);
	SET(1); /* RACE: value variable=value */
	atomic_fetch_add(&sequence, 1);
	return arg;
}

static void *reader(void *arg)
{
	unsigned int before;
	int seen;

	do {
		before = atomic_load(&sequence);
		seen = GET(); /* RACE: value */
	} while (before & 1 || before != atomic_load(&sequence));
	USE(seen);
	tell(1);
	return arg;
}

int main(void)
{
	return both(writer, reader);
}
