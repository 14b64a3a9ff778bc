// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads of overlapping sizes do not race with each other, a write does. */
#include "races.h"

union {
	uint64_t word;
	unsigned char bytes[8];
} data;

static void *first(void *arg)
{
	USE(data.word); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	RACY_ONLY(data.bytes[3] = 1) RIGHT_ONLY(USE(data.bytes[3])); /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
