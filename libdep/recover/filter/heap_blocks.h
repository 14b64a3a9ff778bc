/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sizes of the heap blocks that a thread allocated most recently.
 *
 * A size can be outdated: another thread may have freed the block since, and a larger block may be
 * at its address now.
 */
#ifndef ADEPT_RECOVER_FILTER_HEAP_BLOCKS_H
#define ADEPT_RECOVER_FILTER_HEAP_BLOCKS_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_BLOCKS	4096u

/** struct dep_heap_sizes - the table, empty if zeroed; free with dep_heap_sizes_free() */
struct dep_heap_sizes {
	u64 *slot;
	u64 *reported;		/* by slot: interval in which the program read the size; or NULL */
};

void dep_heap_sizes_free(struct dep_heap_sizes *b);
/** dep_heap_sizes_set() - record the size of a block if it is below 1 MiB */
void dep_heap_sizes_set(struct dep_heap_sizes *b, u64 address, u64 size);
/** dep_heap_sizes_get() - get the size of the block at @address; 0: unknown */
u64 dep_heap_sizes_get(const struct dep_heap_sizes *b, u64 address);
void dep_heap_sizes_remove(struct dep_heap_sizes *b, u64 address);
/**
 * dep_heap_sizes_report() - record that the allocator reported @size to the program
 * @turn: number of the current interval, not 0
 */
void dep_heap_sizes_report(struct dep_heap_sizes *b, u64 address, u64 size, u64 turn);
/** dep_heap_sizes_reported() - was @size already reported for the block in interval @turn? */
bool dep_heap_sizes_reported(const struct dep_heap_sizes *b, u64 address, u64 size, u64 turn);

#endif
