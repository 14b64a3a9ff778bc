// SPDX-License-Identifier: GPL-2.0-or-later
/* mtx_t of C11. */
#include <threads.h>

#include "../races/races.h"

static mtx_t lock;
static volatile int value, done, other;

static int first(void *arg)
{
	(void)arg;
	value = 1; /* RACE: value variable=value */
	mtx_lock(&lock);
	done++;
	mtx_unlock(&lock);
	return 0;
}

static int second(void *arg)
{
	(void)arg;
	usleep(100000);
	mtx_lock(&lock);
	RACY_ONLY(other++);
	RIGHT_ONLY(done++);
	mtx_unlock(&lock);
	value = 2; /* RACE: value */
	return 0;
}

int main(void)
{
	thrd_t a, b;

	mtx_init(&lock, mtx_plain);
	thrd_create(&a, first, NULL);
	thrd_create(&b, second, NULL);
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	return 0;
}
