// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One thread initialises a function's static object, and the guard orders the others after it; the
 * racy variant has a guard of its own that is a plain variable.  The object races only in a thread
 * that has already raced on the guard, so the report has the guard.
 * tsan: right only, because it also reports the object
 */
#include <thread>

#include "races.h"

static NOINLINE int compute()
{
	return static_cast<int>(getpid());
}

#ifdef RACY
#define KEEP_ORDER()	__asm__ volatile("" ::: "memory")	/* of the compiled code */

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
