// SPDX-License-Identifier: GPL-2.0-or-later
/* A word that is not aligned, and a byte that is its last one or the one after it. */
#include "races.h"

#define LAST	12
#define AT	(RACY_ONLY(LAST) RIGHT_ONLY(LAST + 1))

char data[32] __attribute__((aligned(32)));

static inline __attribute__((always_inline)) void put(char *p, uint64_t value)
{
	struct __attribute__((packed)) {
		uint64_t value;
	} *word = (void *)p;

	word->value = value;
}

static void *first(void *arg)
{
	put(data + 5, 1); /* RACE: bytes variable=data */
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
