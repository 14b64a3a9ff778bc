// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads create threads at the same time: memory that the C library allocates for them passes from
 * one to the other, which does not concern the program.
 */
#include "races.h"

#define EACH 8

static int values[2], late;

static void *leaf(void *arg)
{
	*(int *)arg += 1;
	return NULL;
}

static void *tree(void *arg)
{
	int *mine = arg, i;
	pthread_t t;

	for (i = 0; i < EACH; i++) {
		CHECK(!pthread_create(&t, NULL, leaf, mine));
		pthread_join(t, NULL);
	}
	return NULL;
}

static void *first(void *arg)
{
	tree(&values[0]);
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	tree(&values[1]);
	await(1);
	RACY_ONLY(late = 1); /* RACE: late variable=late */
	tell(2);
	return arg;
}

static void *third(void *arg)
{
	await(2);
	USE(late); /* RACE: late */
	return arg;
}

int main(void)
{
	pthread_t t = start(third);

	both(first, second);
	pthread_join(t, NULL);
	CHECK(values[0] == EACH);
	return 0;
}
