// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rep movsb, and a byte within or after what it copies.
 * tsan: right only, because the compiler does not see what an instruction does
 */
#include "races.h"

char data[64], source[64];

static inline __attribute__((always_inline)) void copy(void *to, void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void *first(void *arg)
{
	copy(data, source, 40); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(39) RIGHT_ONLY(40)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
