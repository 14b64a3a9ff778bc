// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What follows a parallel region comes after all of its threads; the racy one has another
 * thread that nobody waits for.
 * Flags: -fopenmp
 * tsan: archer
 */
#include <omp.h>

#include "races.h"

static int values[2];

static void *beside(void *arg)
{
	await(1);
	USE(values[1]); /* RACE: value variable=values */
	return arg;
}

int main(void)
{
	pthread_t t;

	RACY_ONLY(t = start(beside));
#pragma omp parallel num_threads(2)
	values[omp_get_thread_num()] = 1; /* RACE: value */
	tell(1);
	USE(values[0] + values[1]);
	RIGHT_ONLY(t = start(beside));
	pthread_join(t, NULL);
	return 0;
}
