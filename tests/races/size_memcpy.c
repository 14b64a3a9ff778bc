// SPDX-License-Identifier: GPL-2.0-or-later
/* memcpy of a size that is known at run time, and a byte within or after it. */
#include <string.h>

#include "races.h"

char data[128], source[128];
size_t length = 77;

static void *first(void *arg)
{
	memcpy(data, source, length); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(76) RIGHT_ONLY(77)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
