// SPDX-License-Identifier: GPL-2.0-or-later
/* std::mutex by lock_guard; the racy one ends the guard's scope too early. */
#include <mutex>
#include <thread>

#include "races.h"

static std::mutex lock;
static int counter;

static void first()
{
	std::lock_guard<std::mutex> guard(lock);
	counter++; /* RACE: counter variable=counter */
}

static void second()
{
	nap();
	{
		RIGHT_ONLY(std::lock_guard<std::mutex> guard(lock));
		counter++; /* RACE: counter */
	}
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
