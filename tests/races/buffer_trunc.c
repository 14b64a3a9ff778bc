// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recvfrom() of the beginning of a message returns the message's length, but writes only the
 * beginning.
 */
#include <sys/socket.h>

#include "races.h"

static int pair[2];
static char text[16];

static void *taker(void *arg)
{
	ssize_t size = recvfrom(pair[1], text, 4, MSG_TRUNC, NULL, NULL); /* RACE: text */

	CHECK(size == 16);
	return arg;
}

static void *other(void *arg)
{
	nap();
	RACY_ONLY(text[3] = 1); /* RACE: text variable=text */
	RIGHT_ONLY(text[4] = 1);
	return arg;
}

int main(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	CHECK(send(pair[0], "fifteen letters", 16, 0) == 16);
	return both(taker, other);
}
