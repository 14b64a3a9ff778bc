// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All wait at the end of a single region, but for one that says nowait.
 * Flags: -fopenmp
 * tsan: archer
 */
#include "races.h"

static int value;

static NOINLINE void read_it(void)
{
	USE(value); /* RACE: value variable=value */
}

int main(void)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp single RACY_ONLY(nowait)
		{
			nap();
			value = 1; /* RACE: value */
		}
		read_it();
	}
	return 0;
}
