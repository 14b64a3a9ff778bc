// SPDX-License-Identifier: GPL-2.0-or-later
/* A word, and a byte that is its last one or the one after it. */
#include "races.h"

#define LAST	7
#define AT	(RACY_ONLY(LAST) RIGHT_ONLY(LAST + 1))

union {
	uint64_t word;
	char bytes[16];
} data;

static void *first(void *arg)
{
	data.word = 1; /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data.bytes[AT] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
