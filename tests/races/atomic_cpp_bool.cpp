// SPDX-License-Identifier: GPL-2.0-or-later
/* A std::atomic<bool> in an object, written and read by operators. */
#include <atomic>
#include <thread>

#include "races.h"

struct state {
	int value = 0;
	std::atomic<bool> done{false};
};

static state shared;

static void giver()
{
	RIGHT_ONLY(shared.value = 1);
	shared.done = true;
	RACY_ONLY(shared.value = 1); /* RACE: value variable=shared */
	tell(1);
}

static void taker()
{
	await(1);
	if (shared.done)
		USE(shared.value); /* RACE: value */
}

int main()
{
	std::thread a(giver), b(taker);
	a.join();
	b.join();
	return 0;
}
