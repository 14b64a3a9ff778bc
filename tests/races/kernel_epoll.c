// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * epoll reports that an eventfd was written, without reading it.
 * tsan: racy only, because for it a wait acquires nothing
 */
#include <sys/epoll.h>
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
	struct epoll_event event;

	CHECK(epoll_wait(ends[1], &event, 1, -1) == 1);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	ends[0] = eventfd(0, 0);
	ends[1] = epoll_create1(0);
	CHECK(!epoll_ctl(ends[1], EPOLL_CTL_ADD, ends[0], &event));
	return both(giver, taker);
}
