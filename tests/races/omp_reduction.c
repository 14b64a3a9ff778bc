// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sum by reduction, or by adding to a variable that all have.
 * Flags: -fopenmp
 * tsan: archer
 */
#include "races.h"

static int sum;

int main(void)
{
	int i;

#pragma omp parallel for num_threads(2) schedule(static) RIGHT_ONLY(reduction(+ : sum))
	for (i = 0; i < 8; i++) {
		usleep(i * 500);
		sum += i; /* RACE: sum variable=sum */
	}
	USE(sum);
	return 0;
}
