// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task is done after taskwait, and not before.
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
#pragma omp task
		{
			value = 1; /* RACE: value variable=value */
			tell(1);
		}
		/* meanwhile the other thread takes the task */
		RACY_ONLY(await(1));
		RACY_ONLY(USE(value)); /* RACE: value */
#pragma omp taskwait
		RIGHT_ONLY(USE(value));
	}
	return 0;
}
