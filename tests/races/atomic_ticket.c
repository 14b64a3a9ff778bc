// SPDX-License-Identifier: GPL-2.0-or-later
/* A ticket lock: the number being served is stored and awaited by moves only. */
#include "races.h"

static unsigned int next, serving;
static int counter;

static void lock(void)
{
	unsigned int mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);

	while (__atomic_load_n(&serving, __ATOMIC_ACQUIRE) != mine)
		__builtin_ia32_pause();
}

static void unlock(void)
{
	unsigned int now = __atomic_load_n(&serving, __ATOMIC_RELAXED);

	__atomic_store_n(&serving, now + 1, __ATOMIC_RELEASE);
}

static void *first(void *arg)
{
	lock();
	RIGHT_ONLY(counter++);
	unlock();
	RACY_ONLY(counter++); /* RACE: counter variable=counter */
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	lock();
	counter++; /* RACE: counter */
	unlock();
	return arg;
}

int main(void)
{
	return both(first, second);
}
