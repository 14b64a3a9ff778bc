// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A barrier between what one thread writes and another one reads.
 * Flags: -fopenmp
 * tsan: archer
 */
#include <omp.h>

#include "races.h"

static int value;

int main(void)
{
#pragma omp parallel num_threads(2)
	{
		if (!omp_get_thread_num())
			value = 1; /* RACE: value variable=value */
#ifndef RACY
#pragma omp barrier
#endif
		if (omp_get_thread_num()) {
			nap();
			USE(value); /* RACE: value */
		}
	}
	return 0;
}
