// SPDX-License-Identifier: GPL-2.0-or-later
/* A structure is assigned, and one of its fields, or one of the next element, is read. */
#include "races.h"

struct thing {
	long fields[8];
} data[2], other;

static void *first(void *arg)
{
	data[0] = other; /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	USE(data[RACY_ONLY(0) RIGHT_ONLY(1)].fields[7]); /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
