// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Critical sections of the same name exclude each other, others do not.
 * Flags: -fopenmp
 * tsan: archer
 */
#include <omp.h>

#include "races.h"

static int counter;

int main(void)
{
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num()) {
			nap();
#pragma omp critical(one)
			counter++; /* RACE: counter variable=counter */
		} else {
#pragma omp critical(RACY_ONLY(two) RIGHT_ONLY(one))
			counter++; /* RACE: counter */
		}
	}
	USE(counter);
	return 0;
}
