// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that drops the last reference frees the object; the racy one reads it after dropping
 * its own.
 */
#include "races.h"

struct thing {
	int users;
	long value;
};

static struct thing *thing;

static void drop(void)
{
	if (__atomic_sub_fetch(&thing->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(thing); /* RACE: free */
}

static void *first(void *arg)
{
	RIGHT_ONLY(USE(thing->value));
	drop();
	RACY_ONLY(USE(thing->value)); /* RACE: free */
	tell(1);
	return arg;
}

static void *second(void *arg)
{
	await(1);
	drop();
	return arg;
}

int main(void)
{
	thing = calloc(1, sizeof(*thing));
	thing->users = 2;
	return both(first, second);
}
