// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread of C11 between its creation and its join.
 * tsan: no, because it does not know these functions
 */
#include <threads.h>

#include "races.h"

static int value;

static int thread(void *arg)
{
	nap();
	value++; /* RACE: value variable=value */
	USE(arg);
	return 0;
}

int main(void)
{
	thrd_t t;

	value = 1;
	CHECK(thrd_create(&t, thread, NULL) == thrd_success);
	RACY_ONLY(value++); /* RACE: value */
	thrd_join(t, NULL);
	value++;
	return 0;
}
