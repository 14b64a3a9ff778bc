// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block that one thread freed and another one allocated counts as two blocks; in the racy variant
 * the first thread still uses its own.
 * tsan: right only, because its malloc does not reuse the block so soon
 */
#include <malloc.h>

#include "races.h"

#define SIZE	4000	/* more blocks than a thread's cache holds */

static NOINLINE char *take(size_t size)
{
	char *p = malloc(size);

	USE(p);
	return p;
}

static NOINLINE void give(char *p)
{
	USE(p);
	free(p);
}

static void *first(void *arg)
{
	uintptr_t address;
	char *p;

	await(1);
	p = take(SIZE);
	address = (uintptr_t)p;
	p[0] = 1;
	give(p);
	tell(address);
	await(2);
	RACY_ONLY(*(char *)address = 2); /* RACE: block */
	return arg;
}

static void *second(void *arg)
{
	uintptr_t old;
	char *p;

	give(take(1));
	tell(1);
	old = hear(1);
	*(p = malloc(SIZE)) = 3; /* RACE: block */
	USE(p);
#ifndef __SANITIZE_THREAD__
	CHECK((uintptr_t)p == old);
#endif
	USE(old);
	tell(2);
	return arg;
}

int main(void)
{
	mallopt(M_ARENA_MAX, 1);
	return both(first, second);
}
