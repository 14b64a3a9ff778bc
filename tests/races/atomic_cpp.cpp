// SPDX-License-Identifier: GPL-2.0-or-later
/* std::atomic with release and acquire, which are plain moves. */
#include <atomic>
#include <thread>

#include "races.h"

static std::atomic<int> flag;
static int value;

static void giver()
{
	RIGHT_ONLY(value = 1);
	flag.store(1, std::memory_order_release);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	tell(1);
}

static void taker()
{
	await(1);
	if (flag.load(std::memory_order_acquire))
		USE(value); /* RACE: value */
}

int main()
{
	std::thread a(giver), b(taker);
	a.join();
	b.join();
	return 0;
}
