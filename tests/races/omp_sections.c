// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two sections, with an atomic update each, or a plain one.
 * Flags: -fopenmp
 * tsan: archer
 */
#include "races.h"

static int counter;

int main(void)
{
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		{
			RACY_ONLY(tell(1));
			RACY_ONLY(await(2));
#ifndef RACY
#pragma omp atomic
#endif
			counter++; /* RACE: counter variable=counter */
		}
#pragma omp section
		{
			RACY_ONLY(await(1));
#ifndef RACY
#pragma omp atomic
#endif
			counter++; /* RACE: counter */
			RACY_ONLY(tell(2));
		}
	}
	USE(counter);
	return 0;
}
