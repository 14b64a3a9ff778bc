// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each thread has its own elements of an array, next to each other; the racy one accesses one more.
 */
#include "races.h"

unsigned short elements[9];

static void *even(void *arg)
{
	int i;

	/* one by one, since vectors would also read the elements in between */
	for (i = 0; i < 8; i += 2) {
		elements[i]++; /* RACE: element variable=elements */
		USE(elements);
	}
	return arg;
}

static void *odd(void *arg)
{
	int i;

	nap();
	for (i = RACY_ONLY(4) RIGHT_ONLY(1); i < 8; i += RACY_ONLY(3) RIGHT_ONLY(2)) {
		elements[i]++; /* RACE: element */
		USE(elements);
	}
	return arg;
}

int main(void)
{
	return both(even, odd);
}
