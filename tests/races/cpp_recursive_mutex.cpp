// SPDX-License-Identifier: GPL-2.0-or-later
/* std::recursive_mutex is held until its last guard is destroyed. */
#include <mutex>
#include <thread>

#include "races.h"

static std::recursive_mutex lock;
static int counter;

static void first()
{
	{
		std::lock_guard<std::recursive_mutex> outer(lock);
		{
			std::lock_guard<std::recursive_mutex> inner(lock);
		}
		RIGHT_ONLY(counter++);
	}
	RACY_ONLY(counter++); /* RACE: counter variable=counter */
	tell(1);
}

static void second()
{
	await(1);
	std::lock_guard<std::recursive_mutex> guard(lock);
	counter++; /* RACE: counter */
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
