// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ordered parts of a loop come one after the other.
 * Flags: -fopenmp
 * tsan: archer
 */
#include "races.h"

static int last;

int main(void)
{
	int i;

#pragma omp parallel for ordered num_threads(2) schedule(static)
	for (i = 0; i < 4; i++) {
		nap();
#ifndef RACY
#pragma omp ordered
#endif
		last = i; /* RACE: last variable=last */
	}
	USE(last);
	return 0;
}
