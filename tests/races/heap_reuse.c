// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block that one thread freed and another one was given is two blocks one after the
 * other; the racy one's first thread still uses its own.
 * tsan: right only, because its malloc does not give the block again so soon
 */
#include <malloc.h>

#include "races.h"

#define SIZE	4000	/* more than what a thread keeps for itself */

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
