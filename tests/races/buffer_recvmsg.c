// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel writes a message to the second of two buffers, but not to all of it. */
#include <sys/socket.h>

#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char before[8], buffer[16];

static void *caller(void *arg)
{
	struct iovec parts[] = { { before, 8 }, { buffer, 16 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	pthread_mutex_lock(&lock);
	CHECK(recvmsg(ends[0], &message, 0) == 16); /* RACE: buffer variable=buffer */
	pthread_mutex_unlock(&lock);
	tell(1);
	return arg;
}

static void *user(void *arg)
{
	await(1);
	USE(buffer[8]);
	RIGHT_ONLY(pthread_mutex_lock(&lock));
	USE(buffer[7]); /* RACE: buffer */
	RIGHT_ONLY(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK(write(ends[1], "0123456789abcdef", 16) == 16);
	return both(caller, user);
}
