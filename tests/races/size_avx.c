// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thirty-two bytes by one instruction, and a byte that is the last one or the one after it.
 * Flags: -mavx
 * Needs: avx
 */
#include <immintrin.h>

#include "races.h"

#define LAST	31
#define AT	(RACY_ONLY(LAST) RIGHT_ONLY(LAST + 1))

char data[64] __attribute__((aligned(32)));

static void *first(void *arg)
{
	_mm256_storeu_si256((void *)data, _mm256_set1_epi8(1)); /* RACE: bytes variable=data */
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
