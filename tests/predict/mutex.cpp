// SPDX-License-Identifier: GPL-2.0-or-later
/* std::mutex and std::shared_mutex are pthread locks. */
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../races/races.h"

static std::mutex lock;
static std::shared_mutex table;
static volatile int value, other, rows;

static void first()
{
	value = 1; /* RACE: value variable=value */
	std::lock_guard<std::mutex> hold(lock);
	std::unique_lock<std::shared_mutex> write(table);
	rows = 1;
}

static void second()
{
	usleep(100000);
	{
		std::lock_guard<std::mutex> hold(lock);
		std::shared_lock<std::shared_mutex> read(table);
		RACY_ONLY(other = 1);
		RIGHT_ONLY(USE(rows));
	}
	value = 2; /* RACE: value */
}

int main()
{
	std::thread a(first), b(second);

	a.join();
	b.join();
	return 0;
}
