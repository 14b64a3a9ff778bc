// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A loop whose iterations write to an element each, or all to the same variable.
 * Flags: -fopenmp
 * tsan: archer
 */
#include "races.h"

static int elements[8];

int main(void)
{
	int i;

#pragma omp parallel for num_threads(2) schedule(static)
	for (i = 0; i < 8; i++) {
		usleep(i * 500);
		elements[RACY_ONLY(0) RIGHT_ONLY(i)] += i; /* RACE: elements variable=elements */
	}
	USE(elements[0]);
	return 0;
}
