// SPDX-License-Identifier: GPL-2.0-or-later
/* Sixteen bytes by one instruction, and a byte that is the last one or the one after it. */
#include <emmintrin.h>

#include "races.h"

#define LAST	15
#define AT	(RACY_ONLY(LAST) RIGHT_ONLY(LAST + 1))

char data[32] __attribute__((aligned(32)));

static void *first(void *arg)
{
	_mm_storeu_si128((void *)data, _mm_set1_epi8(1)); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[AT] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
