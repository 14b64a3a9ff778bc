// SPDX-License-Identifier: GPL-2.0-or-later
/* What comes before a promise is kept is seen by who gets the future, not what follows. */
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
