// SPDX-License-Identifier: GPL-2.0-or-later
/* std::condition_variable, by wait with a predicate and by wait_for. */
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "races.h"

static std::mutex lock;
static std::condition_variable condition;
static bool ready;
static int value;

static void giver()
{
	nap();
	RIGHT_ONLY(value = 1);
	{
		std::lock_guard<std::mutex> guard(lock);
		ready = true;
	}
	condition.notify_all();
	RACY_ONLY(value = 1); /* RACE: plain, timed variable=value */
}

static void plain()
{
	std::unique_lock<std::mutex> guard(lock);
	condition.wait(guard, [] { return ready; });
	guard.unlock();
	USE(value); /* RACE: plain */
}

static void timed()
{
	std::unique_lock<std::mutex> guard(lock);
	while (!condition.wait_for(guard, std::chrono::seconds(60), [] { return ready; }))
		;
	guard.unlock();
	USE(value); /* RACE: timed */
}

int main()
{
	std::thread a(giver), b(plain), c(timed);
	a.join();
	b.join();
	c.join();
	return 0;
}
