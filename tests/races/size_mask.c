// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memset of few bytes, which the C library does by one masked store if the processor has AVX-512,
 * and bytes within or after it: only the bytes that the mask selects are accessed.
 */
#include <string.h>

#include "races.h"

char data[64] __attribute__((aligned(64)));
size_t length = 24;

static void *first(void *arg)
{
	memset(data, 1, length); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(23) RIGHT_ONLY(24)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
