// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that gets a future's value is ordered after everything before the promise was fulfilled,
 * but not after later accesses.
 */
#include <future>
#include <thread>

#include "races.h"

static std::promise<int> promise;
static int value;

static void giver()
{
	nap();
	RIGHT_ONLY(value = 1);
	promise.set_value(1);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	tell(1);
}

int main()
{
	std::future<int> future = promise.get_future();
	std::thread t(giver);

	future.get();
	await(1);
	USE(value); /* RACE: value */
	t.join();
	return 0;
}
