// SPDX-License-Identifier: GPL-2.0-or-later
/* pthread_timedjoin_np orders only if it succeeds. */
#include "races.h"

static int value;

static void *thread(void *arg)
{
	value = 1; /* RACE: value variable=value */
	tell(1);
	await(2);
	return arg;
}

int main(void)
{
	pthread_t t = start(thread);
	struct timespec soon, late;

	await(1);
	soon = later(10);
	CHECK(pthread_timedjoin_np(t, NULL, &soon) == ETIMEDOUT);
	RACY_ONLY(USE(value)); /* RACE: value */
	tell(2);
	late = later(60000);
	CHECK(!pthread_timedjoin_np(t, NULL, &late));
	RIGHT_ONLY(USE(value));
	return 0;
}
