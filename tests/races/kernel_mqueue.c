// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A message queue of POSIX.
 * tsan: no, because it does not know these functions
 */
#include <fcntl.h>
#include <mqueue.h>

#include "races.h"

static mqd_t queue;
static int value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	CHECK(!mq_send(queue, "x", 1, 0));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	char message[8];

	CHECK(mq_receive(queue, message, sizeof(message), NULL) == 1);
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[64];

	snprintf(name, sizeof(name), "/adept-races-%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	CHECK(queue != (mqd_t)-1);
	mq_unlink(name);
	return both(giver, taker);
}
