// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks that depend on each other are ordered, others are not.
 * Flags: -fopenmp
 * tsan: archer
 */
#include "races.h"

static int value;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task RIGHT_ONLY(depend(out : value))
		{
			value = 1; /* RACE: value variable=value */
			RACY_ONLY(tell(1));
			RACY_ONLY(await(2));
		}
#pragma omp task RIGHT_ONLY(depend(in : value))
		{
			RACY_ONLY(await(1));
			USE(value); /* RACE: value */
			RACY_ONLY(tell(2));
		}
	}
	return 0;
}
