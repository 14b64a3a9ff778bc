// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting on an atomic and being notified, by a futex.
 * Flags: -std=c++20
 */
#include <atomic>
#include <thread>

#include "races.h"

static std::atomic<int> flag;
static int value;

static void giver()
{
	nap();
	RIGHT_ONLY(value = 1);
	flag.store(1, std::memory_order_release);
	flag.notify_one();
	RACY_ONLY(value = 1); /* RACE: value variable=value */
}

static void taker()
{
	flag.wait(0, std::memory_order_acquire);
	nap();
	USE(value); /* RACE: value */
}

int main()
{
	std::thread a(giver), b(taker);
	a.join();
	b.join();
	return 0;
}
