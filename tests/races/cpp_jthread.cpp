// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A std::jthread is joined by its destructor and stopped by a token.
 * Flags: -std=c++20
 */
#include <thread>

#include "races.h"

static int value;

static void work(std::stop_token token)
{
	while (!token.stop_requested())
		nap();
	value = 1; /* RACE: value variable=value */
	tell(1);
}

int main()
{
	{
		std::jthread thread(work);
		thread.request_stop();
		RACY_ONLY(await(1));
		RACY_ONLY(USE(value)); /* RACE: value */
	}
	RIGHT_ONLY(USE(value));
	return 0;
}
