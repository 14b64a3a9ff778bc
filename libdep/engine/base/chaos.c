// SPDX-License-Identifier: LGPL-2.1-or-later
#include "chaos.h"

/*
 * A linear congruential generator (D. Knuth, The Art of Computer Programming, volume 2, 3.3.4:
 * MMIX).  A program with one thread gets the same numbers from the same seed.
 */
static u64 state;

static u32 random32(void)
{
	u64 old = __atomic_load_n(&state, __ATOMIC_RELAXED), new;

	do {
		new = (old ? old : layout()->chaos_seed) * 6364136223846793005ull +
		      1442695040888963407ull;
	} while (!__atomic_compare_exchange_n(&state, &old, new, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return (u32)(new >> 32);
}

int chaos_strikes(u32 mode, u32 one_in)
{
	return chaos_is(mode) && random32() % one_in == 0;
}
