// SPDX-License-Identifier: GPL-2.0-or-later
/* std::call_once, in a thread that did not run the function itself. */
#include <mutex>
#include <thread>

#include "races.h"

static std::once_flag once;
static int value;

static void init()
{
	value = 1; /* RACE: value variable=value */
}

static void first()
{
	std::call_once(once, init);
	USE(value);
	tell(1);
}

static void second()
{
	await(1);
	RIGHT_ONLY(std::call_once(once, init));
	USE(value); /* RACE: value */
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
