// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Critical sections of the same name exclude each other, others do not.
 * Flags: -fopenmp
 * tsan: archer, right only, because a lock within Archer orders the sections
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
#ifdef RACY
#pragma omp critical(two)
#else
#pragma omp critical(one)
#endif
			counter += 2; /* RACE: counter */
		}
	}
	USE(counter);
	return 0;
}
