// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A lock of OpenMP's.
 * Flags: -fopenmp
 * tsan: archer
 */
#include <omp.h>

#include "races.h"

static omp_lock_t lock;
static int counter;

int main(void)
{
	omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num()) {
			omp_set_lock(&lock);
			counter++; /* RACE: counter variable=counter */
			omp_unset_lock(&lock);
		} else {
			nap();
			RIGHT_ONLY(omp_set_lock(&lock));
			counter += 2; /* RACE: counter */
			RIGHT_ONLY(omp_unset_lock(&lock));
		}
	}
	USE(counter);
	return 0;
}
