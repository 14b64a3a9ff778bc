// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A signal to the process that is read from a signalfd.
 * tsan: racy only, because for it a signal releases nothing
 */
#include <signal.h>
#include <sys/signalfd.h>

#include "races.h"

static int fd, value;

static void *giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	CHECK(!kill(getpid(), SIGUSR1));
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	return arg;
}

static void *taker(void *arg)
{
	struct signalfd_siginfo info;

	CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
	nap();
	USE(value); /* RACE: value */
	return arg;
}

int main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	CHECK(fd >= 0);
	return both(giver, taker);
}
