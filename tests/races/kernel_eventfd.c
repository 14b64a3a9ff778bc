// SPDX-License-Identifier: GPL-2.0-or-later
/* An eventfd adds up writes until a thread reads it. */
#include <sys/eventfd.h>

#include "races.h"

static int ends[2], value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	CHECK(!eventfd_write(ends[0], 1));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	eventfd_t count;

	CHECK(!eventfd_read(ends[0], &count));
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	ends[0] = eventfd(0, 0);
	return both(giver, taker);
}
