// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread deletes an object that another thread has just used. */
#include <mutex>
#include <thread>

#include "races.h"

static std::mutex lock;
static int *object;

static void user()
{
	{
		std::lock_guard<std::mutex> guard(lock);
		*object = 1; /* RACE: object */
	}
	tell(1);
}

static void owner()
{
	await(1);
	RIGHT_ONLY(std::lock_guard<std::mutex> guard(lock));
	delete object; /* RACE: object */
}

int main()
{
	object = new int(0);
	std::thread a(user), b(owner);
	a.join();
	b.join();
	return 0;
}
