// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recvmsg() with too little room for the sender's name: it writes only as much as there is room
 * for.
 * tsan: no, because it takes the whole name for written
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "races.h"

static int from, to;
static char text[8];
static struct {
	char name[4];
	int other;
} box;

static void *taker(void *arg)
{
	struct iovec part = { text, sizeof(text) };
	struct msghdr message = {
		.msg_name = box.name, .msg_namelen = sizeof(box.name),
		.msg_iov = &part, .msg_iovlen = 1,
	};

	CHECK(recvmsg(to, &message, 0) == 4); /* RACE: text variable=text */
	CHECK(message.msg_namelen > sizeof(box.name));
	return arg;
}

static void *other(void *arg)
{
	nap();
	box.other = 1;
	RACY_ONLY(text[3] = 1); /* RACE: text */
	return arg;
}

static int named(char what)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	/* a name that is not in a file system */
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "races %d %c", getpid(), what);
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

int main(void)
{
	struct sockaddr_un name;
	socklen_t size = sizeof(name);

	from = named('a');
	to = named('b');
	CHECK(!getsockname(to, (struct sockaddr *)&name, &size));
	CHECK(sendto(from, "text", 4, 0, (struct sockaddr *)&name, size) == 4);
	return both(taker, other);
}
