// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rep stosq downwards, and a byte within or before what it fills.
 * tsan: right only, because the compiler does not see what an instruction does
 */
#include "races.h"

char data[64] __attribute__((aligned(64)));

static inline __attribute__((always_inline)) void fill(void *to, size_t n)
{
	__asm__ volatile("std; rep stosq; cld" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

static void *first(void *arg)
{
	fill(data + 56, 5); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(24) RIGHT_ONLY(23)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
