// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A destructor of C11's thread-specific storage runs before the thread is joined.
 * tsan: no, because it does not know these functions
 */
#include <threads.h>

#include "races.h"

static tss_t key;
static int value;

static void destructor(void *arg)
{
	USE(arg);
	value = 1; /* RACE: value variable=value */
	tell(1);
}

static int thread(void *arg)
{
	tss_set(key, &value);
	USE(arg);
	return 0;
}

int main(void)
{
	thrd_t t;

	tss_create(&key, destructor);
	CHECK(thrd_create(&t, thread, NULL) == thrd_success);
	RACY_ONLY(await(1));
	RACY_ONLY(USE(value)); /* RACE: value */
	thrd_join(t, NULL);
	RIGHT_ONLY(USE(value));
	return 0;
}
