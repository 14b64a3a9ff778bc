// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A std::counting_semaphore.
 * Flags: -std=c++20
 */
#include <semaphore>
#include <thread>

#include "races.h"

static std::counting_semaphore<4> semaphore(0);
static int value;

static void giver()
{
	nap();
	RIGHT_ONLY(value = 1);
	semaphore.release();
	RACY_ONLY(value = 1); /* RACE: value variable=value */
}

static void taker()
{
	semaphore.acquire();
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
