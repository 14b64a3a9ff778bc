// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A try_lock_for that times out orders nothing.
 * tsan: racy only, because it does not know pthread_mutex_clocklock
 */
#include <chrono>
#include <mutex>
#include <thread>

#include "races.h"

static std::timed_mutex lock;
static int counter;

static void first()
{
	lock.lock();
	tell(1);
	await(2);
	counter++; /* RACE: counter variable=counter */
	lock.unlock();
}

static void second()
{
	await(1);
	CHECK(!lock.try_lock_for(std::chrono::milliseconds(10)));
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
	CHECK(lock.try_lock_for(std::chrono::seconds(60)));
	RIGHT_ONLY(counter++);
	lock.unlock();
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
