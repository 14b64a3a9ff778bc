// SPDX-License-Identifier: GPL-2.0-or-later
/* Release and acquire on an atomic field of a structure on the heap. */
#include <stdatomic.h>

#include "races.h"

struct box {
	int value;
	atomic_int full;
};

static struct box *box;

static void *giver(void *arg)
{
	RIGHT_ONLY(box->value = 1);
	atomic_store_explicit(&box->full, 1, memory_order_release);
	RACY_ONLY(box->value = 1); /* RACE: value */
	tell(1);
	return arg;
}

static void *taker(void *arg)
{
	await(1);
	if (atomic_load_explicit(&box->full, memory_order_acquire))
		USE(box->value); /* RACE: value */
	return arg;
}

int main(void)
{
	box = calloc(1, sizeof(*box));
	return both(giver, taker);
}
