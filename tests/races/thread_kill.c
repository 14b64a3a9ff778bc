// SPDX-License-Identifier: GPL-2.0-or-later
/* pthread_kill() to a thread that has ended does not order the caller after it. */
#include <signal.h>

#include "races.h"

static int value;

static void *ender(void *arg)
{
	value = 1; /* RACE: value variable=value */
	tell((uint64_t)gettid());
	return arg;
}

int main(void)
{
	pthread_t t = start(ender);

	await_end((pid_t)hear(NOTHING));
	pthread_kill(t, 0);
	RIGHT_ONLY(pthread_join(t, NULL));
	USE(value); /* RACE: value */
	RACY_ONLY(pthread_join(t, NULL));
	return 0;
}
