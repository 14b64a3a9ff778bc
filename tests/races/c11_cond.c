// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The condition variable of C11's threads.
 * tsan: no, because it does not know these functions
 */
#include <threads.h>

#include "races.h"

static mtx_t lock;
static cnd_t cond;
static int ready, value;

static int giver(void *arg)
{
	nap();
	RIGHT_ONLY(value = 1);
	mtx_lock(&lock);
	ready = 1;
	cnd_signal(&cond);
	mtx_unlock(&lock);
	RACY_ONLY(value = 1); /* RACE: value variable=value */
	USE(arg);
	return 0;
}

static int taker(void *arg)
{
	mtx_lock(&lock);
	while (!ready)
		cnd_wait(&cond, &lock);
	mtx_unlock(&lock);
	USE(value); /* RACE: value */
	USE(arg);
	return 0;
}

int main(void)
{
	thrd_t a, b;

	mtx_init(&lock, mtx_plain);
	cnd_init(&cond);
	CHECK(thrd_create(&a, giver, NULL) == thrd_success);
	CHECK(thrd_create(&b, taker, NULL) == thrd_success);
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	return 0;
}
