// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * call_once, in a thread that did not run the routine itself.
 * tsan: no, because it does not know these functions
 */
#include <threads.h>

#include "races.h"

static once_flag once = ONCE_FLAG_INIT;
static int value;

static void init(void)
{
	value = 1; /* RACE: value variable=value */
}

static int first(void *arg)
{
	call_once(&once, init);
	USE(value);
	tell(1);
	USE(arg);
	return 0;
}

static int second(void *arg)
{
	await(1);
	RIGHT_ONLY(call_once(&once, init));
	USE(value); /* RACE: value */
	USE(arg);
	return 0;
}

int main(void)
{
	thrd_t a, b;

	CHECK(thrd_create(&a, first, NULL) == thrd_success);
	CHECK(thrd_create(&b, second, NULL) == thrd_success);
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	return 0;
}
