// SPDX-License-Identifier: GPL-2.0-or-later
/* A word across two cache lines, and the first byte of it or the one before. */
#include "races.h"

char data[128] __attribute__((aligned(64)));

static inline __attribute__((always_inline)) void put(char *p, uint64_t value)
{
	struct __attribute__((packed)) {
		uint64_t value;
	} *word = (void *)p;

	word->value = value;
}

static void *first(void *arg)
{
	put(data + 61, 1); /* RACE: bytes variable=data */
	return arg;
}

static void *second(void *arg)
{
	nap();
	data[RACY_ONLY(61) RIGHT_ONLY(60)] = 1; /* RACE: bytes */
	return arg;
}

int main(void)
{
	return both(first, second);
}
