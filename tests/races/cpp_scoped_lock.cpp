// SPDX-License-Identifier: GPL-2.0-or-later
/* Two mutexes that are locked together; the racy thread locks the wrong two. */
#include <mutex>
#include <thread>

#include "races.h"

static std::mutex one, two, three;
static int counter;

static void first()
{
	std::scoped_lock guard(one, two);
	counter++; /* RACE: counter variable=counter */
}

static void second()
{
	nap();
	std::scoped_lock guard(RACY_ONLY(three) RIGHT_ONLY(two, three));
	counter++; /* RACE: counter */
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
