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
static int one, two;

static void giver()
{
	nap();
	RIGHT_ONLY(one = 1);
	RIGHT_ONLY(two = 1);
	{
		std::lock_guard<std::mutex> guard(lock);
		ready = true;
	}
	condition.notify_all();
	RACY_ONLY(nap());
	RACY_ONLY(one = 1); /* RACE: plain variable=one */
	RACY_ONLY(two = 1); /* RACE: timed variable=two */
}

static void plain()
{
	std::unique_lock<std::mutex> guard(lock);
	condition.wait(guard, [] { return ready; });
	guard.unlock();
	USE(one); /* RACE: plain */
}

static void timed()
{
	std::unique_lock<std::mutex> guard(lock);
	while (!condition.wait_for(guard, std::chrono::seconds(60), [] { return ready; }))
		;
	guard.unlock();
	USE(two); /* RACE: timed */
}

int main()
{
	std::thread a(giver), b(plain), c(timed);
	a.join();
	b.join();
	c.join();
	return 0;
}
