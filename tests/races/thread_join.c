// SPDX-License-Identifier: GPL-2.0-or-later
/* Between its creation and its join a thread is not ordered with others. */
#include "races.h"

static int value;

static void *thread(void *arg)
{
	nap();
	value++; /* RACE: value variable=value */
	return arg;
}

int main(void)
{
	pthread_t t;

	value = 1;
	t = start(thread);
	RACY_ONLY(value++); /* RACE: value */
	pthread_join(t, NULL);
	value++;
	return 0;
}
