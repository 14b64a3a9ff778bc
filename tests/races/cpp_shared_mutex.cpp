// SPDX-License-Identifier: GPL-2.0-or-later
/* A write while a std::shared_mutex is locked in shared mode only. */
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "races.h"

static std::shared_mutex lock;
static int counter;

static void first()
{
	RACY_ONLY(std::shared_lock<std::shared_mutex> guard(lock));
	RIGHT_ONLY(std::unique_lock<std::shared_mutex> guard(lock));
	counter++; /* RACE: counter variable=counter */
}

static void second()
{
	nap();
	std::shared_lock<std::shared_mutex> guard(lock);
	USE(counter); /* RACE: counter */
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
