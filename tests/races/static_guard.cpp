// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function's static object is initialised by one thread, and the guard orders the others
 * after it; the racy one has a guard of its own that is a plain variable.
 */
#include <thread>

#include "races.h"

static NOINLINE int compute()
{
	return static_cast<int>(getpid());
}

#ifdef RACY
static bool done;
static int number;

static NOINLINE int get()
{
	if (!done) { /* RACE: guard */
		number = compute(); /* RACE: number variable=number */
		done = true; /* RACE: guard variable=done */
	}
	return number; /* RACE: number */
}
#else
static NOINLINE int get()
{
	static int number = compute();

	return number;
}
#endif

static void first()
{
	USE(get());
	tell(1);
}

static void second()
{
	await(1);
	USE(get());
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
