// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A descriptor number is reused, which is no race; the racy thread closes the number again while it
 * is another thread's.
 */
#include <fcntl.h>

#include "races.h"

static void *first(void *arg)
{
	int fd = open("/dev/null", O_RDONLY);

	CHECK(!close(fd));
	tell(fd);
	await(1000);
	RACY_ONLY(CHECK(!close(fd))); /* RACE: descriptor */
	return arg;
}

static void *second(void *arg)
{
	int fd = hear(NOTHING);
	char byte;

	CHECK(read(open("/dev/zero", O_RDONLY), &byte, 1) == 1); /* RACE: descriptor */
	CHECK(fcntl(fd, F_GETFD) >= 0);
	tell(1000);
	return arg;
}

int main(void)
{
	return both(first, second);
}
