// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mtx_trylock and mtx_timedlock order only if they succeed.
 * tsan: no, because it does not know these functions
 */
#include <threads.h>

#include "races.h"

static mtx_t lock;
static int counter;

static int first(void *arg)
{
	mtx_lock(&lock);
	tell(1);
	await(2);
	counter++; /* RACE: counter variable=counter */
	mtx_unlock(&lock);
	USE(arg);
	return 0;
}

static int second(void *arg)
{
	struct timespec soon, late;

	await(1);
	soon = later(10);
	CHECK(mtx_trylock(&lock) == thrd_busy);
	CHECK(mtx_timedlock(&lock, &soon) == thrd_timedout);
	RACY_ONLY(counter++); /* RACE: counter */
	tell(2);
	late = later(60000);
	CHECK(mtx_timedlock(&lock, &late) == thrd_success);
	RIGHT_ONLY(counter++);
	mtx_unlock(&lock);
	USE(arg);
	return 0;
}

int main(void)
{
	thrd_t a, b;

	mtx_init(&lock, mtx_timed);
	CHECK(thrd_create(&a, first, NULL) == thrd_success);
	CHECK(thrd_create(&b, second, NULL) == thrd_success);
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	return 0;
}
