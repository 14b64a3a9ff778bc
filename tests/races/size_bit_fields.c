// SPDX-License-Identifier: GPL-2.0-or-later
/* Two bit fields in the same byte, or in separate bytes. */
#include "races.h"

struct {
	unsigned int one : 3;
	RIGHT_ONLY(unsigned int : 0);
	unsigned int two : 3;
} data;

static void *first(void *arg)
{
	data.one = 1; /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data.two = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
