// SPDX-License-Identifier: GPL-2.0-or-later
/* A write to a socket that was full comes after the read that made room. */
#include <sys/socket.h>

#include "../races/races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;
static int ends[2];

static void *first(void *arg)
{
	char c;

	value = 1; /* RACE: value variable=value */
	while (recv(ends[0], &c, 1, MSG_DONTWAIT) == 1)
		;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	usleep(200000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	RIGHT_ONLY(CHECK(send(ends[1], "x", 1, MSG_DONTWAIT) == 1));
	value = 2; /* RACE: value */
	return arg;
}

int main(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	while (send(ends[1], "x", 1, MSG_DONTWAIT) == 1)
		;
	CHECK(errno == EAGAIN);
	return both(first, second);
}
