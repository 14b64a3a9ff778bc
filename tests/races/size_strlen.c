// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * strlen reads whole vectors but ignores bytes after the end of the string.  The recording does not
 * show where that end is.
 * asked with: --all
 */
#include <string.h>

#include "races.h"

char data[64] __attribute__((aligned(64))) = "string";
char *string = data;

static void *first(void *arg)
{
	USE(strlen(string)); /* RACE: bytes variable=data */ /* UNLESS BEHIND: bytes */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(6) RIGHT_ONLY(9)] = 0; /* RACE: bytes */ /* UNLESS BEHIND: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
