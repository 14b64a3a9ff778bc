// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that accepts a connection is ordered after the one that requested it. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "races.h"

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t length;
static int listener, value;

static void *giver(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	nap();
	RIGHT_ONLY(value = 1);
	CHECK(!connect(fd, (struct sockaddr *)&address, length));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	CHECK(accept(listener, NULL, NULL) >= 0);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	/* a name that the kernel chooses, not in a file system */
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(!bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)));
	length = sizeof(address);
	CHECK(!getsockname(listener, (struct sockaddr *)&address, &length));
	CHECK(!listen(listener, 1));
	return both(giver, taker);
}
