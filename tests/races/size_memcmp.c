// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memcmp of few bytes, which the C library does by one masked comparison if the processor has
 * AVX-512: bytes after them are not accessed.
 */
#include <string.h>

#include "races.h"

char data[64] __attribute__((aligned(64))) = "0123456789abcdef";
char other[64] __attribute__((aligned(64))) = "0123456789abcdeF";
size_t length = 13;

static void *first(void *arg)
{
	USE(memcmp(data, other, length)); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(12) RIGHT_ONLY(13)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
