// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that arrives while another one initialises a static object waits for it. */
#include <thread>

#include "races.h"

static int value;

struct slow {
	slow()
	{
		value = 1; /* RACE: value variable=value */
		tell(1);
		for (int i = 0; i < 5; i++)
			nap();
	}
};

static NOINLINE void touch()
{
	static slow object;

	USE(&object);
}

static void first()
{
	touch();
}

static void second()
{
	await(1);
	RIGHT_ONLY(touch());
	USE(value); /* RACE: value */
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
