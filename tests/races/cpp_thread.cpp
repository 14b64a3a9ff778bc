// SPDX-License-Identifier: GPL-2.0-or-later
/* std::thread between its creation and its join. */
#include <thread>

#include "races.h"

static int value;

static void work()
{
	nap();
	value++; /* RACE: value variable=value */
}

int main()
{
	value = 1;
	std::thread t(work);
	RACY_ONLY(value++); /* RACE: value */
	t.join();
	value++;
	return 0;
}
