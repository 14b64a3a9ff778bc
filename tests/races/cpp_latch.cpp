// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A std::latch, which waits by futex and plain loads.
 * Flags: -std=c++20
 */
#include <latch>
#include <thread>

#include "races.h"

static std::latch latch(1);
static int value;

static void giver()
{
	nap();
	RIGHT_ONLY(value = 1);
	latch.count_down();
	RACY_ONLY(value = 1); /* RACE: value variable=value */
}

static void taker()
{
	latch.wait();
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
