// SPDX-License-Identifier: GPL-2.0-or-later
/* memset of a size that is known at run time, and a byte within or after it. */
#include <string.h>

#include "races.h"

char data[4096];
size_t length = 3001;

static void *first(void *arg)
{
	memset(data, 1, length); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(3000) RIGHT_ONLY(3001)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
