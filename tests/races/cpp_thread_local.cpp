// SPDX-License-Identifier: GPL-2.0-or-later
/* The destructor of a thread_local object runs in its thread: a join orders it, too. */
#include <thread>

#include "races.h"

static int value;

struct watcher {
	int number = 0;
	~watcher()
	{
		value = 1; /* RACE: value variable=value */
		tell(1);
	}
};

static thread_local watcher mine;

static void work()
{
	mine.number++;
}

int main()
{
	std::thread t(work);

	RACY_ONLY(await(1));
	RACY_ONLY(USE(value)); /* RACE: value */
	t.join();
	RIGHT_ONLY(USE(value));
	return 0;
}
