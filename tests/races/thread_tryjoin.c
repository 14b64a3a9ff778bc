// SPDX-License-Identifier: GPL-2.0-or-later
/* pthread_tryjoin_np orders only if it succeeds. */
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

	await(1);
	CHECK(pthread_tryjoin_np(t, NULL) == EBUSY);
	RACY_ONLY(USE(value)); /* RACE: value */
	tell(2);
	while (pthread_tryjoin_np(t, NULL))
		nap();
	RIGHT_ONLY(USE(value));
	return 0;
}
