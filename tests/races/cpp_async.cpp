// SPDX-License-Identifier: GPL-2.0-or-later
/* std::async: a thread that waits for the future is ordered after the whole function. */
#include <chrono>
#include <future>

#include "races.h"

static int value;

static int work()
{
	value = 1; /* RACE: value variable=value */
	tell(1);
	return 1;
}

int main()
{
	std::future<int> future = std::async(std::launch::async, work);

	await(1);
	RACY_ONLY(USE(value)); /* RACE: value */
	future.wait();
	RIGHT_ONLY(USE(value));
	return 0;
}
