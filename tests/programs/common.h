/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the test programs share: a checksum, a random sequence, a check that aborts. */
#ifndef TESTS_COMMON_H
#define TESTS_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sum = 0xcbf29ce484222325;

static inline void mix(uint64_t v)
{
	sum = (sum ^ v) * 0x9e3779b97f4a7c15;
	sum ^= sum >> 29;
}

static inline void mix_bytes(const void *p, size_t n)
{
	const unsigned char *b = p;	/* unaligned words are no trouble here */

	for (; n >= 8; n -= 8, b += 8)
		mix(*(const uint64_t *)b);
	while (n--)
		mix(*b++);
}

static inline uint64_t rnd(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "%s:%d: %s is false\n",		\
				__FILE__, __LINE__, #cond);		\
			exit(1);					\
		}							\
	} while (0)

static inline int finish(const char *name)
{
	printf("%s %016llx\n", name, (unsigned long long)sum);
	return 0;
}

#endif
