// SPDX-License-Identifier: LGPL-2.1-or-later
#include "atomic_counters.h"

#define TRIES	8u	/* number of slots in which an address may be */

static u32 hash_of(u64 at)
{
	return (u32)(at * 0x9e3779b97f4a7c15ull >> 48);
}

/*
 * Find the slot for @at (address / 8); with @make, take a free one if there is none.
 * Return: its index, or DEP_ATOMIC_COUNTERS.
 */
static u32 find(struct dep_atomic_counters *c, u64 at, bool make)
{
	u32 i, k;
	u64 is;

	for (i = 0; i < TRIES; i++) {
		k = (hash_of(at) + i) % DEP_ATOMIC_COUNTERS;
		is = __atomic_load_n(&c->slot[k].at, __ATOMIC_RELAXED);
		if (is == at)
			return k;
		if (is)
			continue;
		if (!make)
			break;
		/* Another thread may have taken the slot meanwhile. */
		if (__atomic_compare_exchange_n(&c->slot[k].at, &is, at, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) || is == at)
			return k;
	}
	return DEP_ATOMIC_COUNTERS;
}

bool dep_atomic_counters_count(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread)
{
	u32 k, n, reader;

	if (address < 8 || address % 8 + size > 8)
		return false;
	k = find(c, address / 8, true);
	if (k == DEP_ATOMIC_COUNTERS)
		return false;
	n = __atomic_load_n(&c->slot[k].n, __ATOMIC_RELAXED);
	if (n < DEP_ATOMIC_COUNTERS_OFTEN) {
		__atomic_store_n(&c->slot[k].n, n + 1, __ATOMIC_RELAXED);
		return false;
	}
	reader = __atomic_load_n(&c->slot[k].reader, __ATOMIC_RELAXED);
	return !reader || reader == thread;
}

void dep_atomic_counters_read(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread)
{
	u64 at = address / 8, end = (address + (size - 1)) / 8;
	u32 k, reader;

	if (!size)
		return;
	for (; at <= end; at++) {
		k = find(c, at, false);
		if (k == DEP_ATOMIC_COUNTERS)
			continue;
		reader = __atomic_load_n(&c->slot[k].reader, __ATOMIC_RELAXED);
		if (!reader && __atomic_compare_exchange_n(&c->slot[k].reader, &reader, thread,
							   false, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED))
			continue;
		if (reader != thread)
			__atomic_store_n(&c->slot[k].reader, DEP_ATOMIC_COUNTERS_MANY,
					 __ATOMIC_RELAXED);
	}
}
