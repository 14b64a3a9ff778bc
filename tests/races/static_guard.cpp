// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function's static object is initialised by one thread, and the guard orders the others
 * after it; the racy one has a guard of its own that is a plain variable.  What it guards is raced
 * for only by who has lost the race for that, so that is what is told.
 * tsan: right only, because it tells of what is guarded, too
 */
#include <thread>

#include "races.h"

static NOINLINE int compute()
{
	return static_cast<int>(getpid());
}

#ifdef RACY
#define KEEP_ORDER()	__asm__ volatile("" ::: "memory")	/* of what is compiled */

static bool done;
static int number;

static NOINLINE int get()
{
	if (!done) { /* RACE: guard */
		number = compute();
		KEEP_ORDER();
		done = true; /* RACE: guard variable=done */
	}
	KEEP_ORDER();
	return number;
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
