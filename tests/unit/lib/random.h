/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reproducible random numbers: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).  Seeds and numbers
 * of cases can be set in the environment.
 */
#ifndef TESTS_UNIT_LIB_RANDOM_H
#define TESTS_UNIT_LIB_RANDOM_H

#include <stdlib.h>

#include "libdep/abi/types.h"

static u64 rnd_state;

static inline u64 rnd(void)
{
	u64 z = rnd_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/** from_env() - a number from the environment */
static inline u64 from_env(const char *name, u64 otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

#endif
