// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A direct-mapped table by hash of the block's address.  The low ADDRESS_BITS of a slot are the
 * address / ALIGNED, the bits above it are the size.
 */
#include <stdlib.h>

#include "heap_blocks.h"

#define ALIGNED		8u	/* minimum alignment of heap blocks in bytes */
#define ADDRESS_BITS	44u

static u32 number_of(u64 address)
{
	return address * 0x9e3779b97f4a7c15ull >> 32 & (DEP_BLOCKS - 1);
}

static u64 *slot_of(const struct dep_heap_sizes *b, u64 address)
{
	return &b->slot[number_of(address)];
}

static bool is_it(u64 slot, u64 address)
{
	return !(address % ALIGNED) && address / ALIGNED == (slot & ((1ull << ADDRESS_BITS) - 1));
}

void dep_heap_sizes_free(struct dep_heap_sizes *b)
{
	free(b->slot);
	free(b->reported);
	b->slot = b->reported = NULL;
}

void dep_heap_sizes_set(struct dep_heap_sizes *b, u64 address, u64 size)
{
	u64 key = address / ALIGNED;

	dep_heap_sizes_remove(b, address);
	if (!size || size >> (64 - ADDRESS_BITS) || key >> ADDRESS_BITS || address % ALIGNED)
		return;
	/* If there is no memory for the table, no size is known, which callers tolerate. */
	if (!b->slot)
		b->slot = calloc(DEP_BLOCKS, sizeof(*b->slot));
	if (b->slot)
		*slot_of(b, address) = size << ADDRESS_BITS | key;
	if (b->reported)
		b->reported[number_of(address)] = 0;
}

u64 dep_heap_sizes_get(const struct dep_heap_sizes *b, u64 address)
{
	u64 slot = b->slot ? *slot_of(b, address) : 0;

	return is_it(slot, address) ? slot >> ADDRESS_BITS : 0;
}

void dep_heap_sizes_remove(struct dep_heap_sizes *b, u64 address)
{
	if (b->slot && is_it(*slot_of(b, address), address))
		*slot_of(b, address) = 0;
}

void dep_heap_sizes_report(struct dep_heap_sizes *b, u64 address, u64 size, u64 turn)
{
	dep_heap_sizes_set(b, address, size);
	if (!b->reported)
		b->reported = calloc(DEP_BLOCKS, sizeof(*b->reported));
	if (b->reported && dep_heap_sizes_get(b, address) == size)
		b->reported[number_of(address)] = turn;
}

bool dep_heap_sizes_reported(const struct dep_heap_sizes *b, u64 address, u64 size, u64 turn)
{
	return b->reported && b->reported[number_of(address)] == turn &&
	       dep_heap_sizes_get(b, address) == size;
}
