// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mutex of C11's threads.
 * tsan: no, because it does not know these functions
 */
#include <threads.h>

#include "races.h"

static mtx_t lock;
static int counter;

static int first(void *arg)
{
	mtx_lock(&lock);
	counter++; /* RACE: counter variable=counter */
	mtx_unlock(&lock);
	USE(arg);
	return 0;
}

static int second(void *arg)
{
	nap();
	RIGHT_ONLY(mtx_lock(&lock));
	counter++; /* RACE: counter */
	RIGHT_ONLY(mtx_unlock(&lock));
	USE(arg);
	return 0;
}

int main(void)
{
	thrd_t a, b;

	mtx_init(&lock, mtx_plain);
	CHECK(thrd_create(&a, first, NULL) == thrd_success);
	CHECK(thrd_create(&b, second, NULL) == thrd_success);
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	return 0;
}
