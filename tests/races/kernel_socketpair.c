// SPDX-License-Identifier: GPL-2.0-or-later
/* A pair of sockets, by send and recv. */
#include <sys/socket.h>

#include "races.h"

static int ends[2], value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	CHECK(send(ends[1], "x", 1, 0) == 1);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	char byte;

	CHECK(recv(ends[0], &byte, 1, 0) == 1);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	return both(giver, taker);
}
