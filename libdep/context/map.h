/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hash table from hashes to numbers.  The caller compares the keys. */
#ifndef ADEPT_CONTEXT_MAP_H
#define ADEPT_CONTEXT_MAP_H

#include <errno.h>
#include <stdlib.h>

#include "libdep/abi/types.h"

#define DEP_CC_NONE	UINT32_MAX

/** struct dep_cc_map - open addressing; at most half of the slots are used */
struct dep_cc_map {
	struct dep_cc_map_slot {
		u32 hash;
		u32 number;	/* 1 + number; 0: free */
	} *slot;
	u32 mask, n;
};

/** dep_cc_hash() - mix two words */
static inline u32 dep_cc_hash(u64 a, u64 b)
{
	u64 h = (a + 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h = (h ^ h >> 32 ^ b) * 0xc4ceb9fe1a85ec53ull;
	h = (h ^ h >> 29) * 0x9e3779b97f4a7c15ull;
	return (u32)(h >> 32);
}

/**
 * dep_cc_map_next() - the next number that was added with @hash
 * @at: @hash at the first call; changed for the next one
 *
 * Return: a number, or DEP_CC_NONE: there is no further one.
 */
static inline u32 dep_cc_map_next(const struct dep_cc_map *m, u32 hash, u32 *at)
{
	const struct dep_cc_map_slot *s;

	if (!m->slot)
		return DEP_CC_NONE;
	for (;;) {
		s = m->slot + (*at & m->mask);
		if (!s->number)
			return DEP_CC_NONE;
		++*at;
		if (s->hash == hash)
			return s->number - 1;
	}
}

static inline void dep_cc_map_put(struct dep_cc_map *m, u32 hash, u32 number)
{
	u32 at = hash;

	while (m->slot[at & m->mask].number)
		at++;
	m->slot[at & m->mask] = (struct dep_cc_map_slot){ .hash = hash, .number = number };
}

/** dep_cc_map_reserve() - make room for one number more; 0 or -ENOMEM */
static inline int dep_cc_map_reserve(struct dep_cc_map *m)
{
	struct dep_cc_map old = *m;
	u32 i;

	if (old.slot && m->n < (m->mask >> 1))
		return 0;
	m->mask = old.slot ? 2 * old.mask + 1 : 63;
	m->slot = calloc(m->mask + 1ull, sizeof(*m->slot));
	if (!m->slot) {
		*m = old;
		return -ENOMEM;
	}
	for (i = 0; old.slot && i <= old.mask; i++)
		if (old.slot[i].number)
			dep_cc_map_put(m, old.slot[i].hash, old.slot[i].number);
	free(old.slot);
	return 0;
}

/** dep_cc_map_add() - add @number, for which dep_cc_map_reserve() has made room */
static inline void dep_cc_map_add(struct dep_cc_map *m, u32 hash, u32 number)
{
	dep_cc_map_put(m, hash, number + 1);
	m->n++;
}

#endif
