/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sizes of the heap blocks that a thread allocated most recently.
 *
 * Another thread can have freed a block since, and a larger block can be at its address now.  A
 * caller that needs certainty must compare.
 */
#ifndef ADEPT_RECOVER_FILTER_HEAP_BLOCKS_H
#define ADEPT_RECOVER_FILTER_HEAP_BLOCKS_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_BLOCKS	4096u

/** struct dep_heap_sizes - the table, empty if zeroed; free with dep_heap_sizes_free() */
struct dep_heap_sizes {
	u64 *slot;
	u64 *reported;		/* intervals in which the program asked for the size; or NULL */
};

void dep_heap_sizes_free(struct dep_heap_sizes *b);
/** dep_heap_sizes_set() - note a block's size; very large ones are not kept */
void dep_heap_sizes_set(struct dep_heap_sizes *b, u64 address, u64 size);
/** dep_heap_sizes_get() - the size of a block, or 0: unknown */
u64 dep_heap_sizes_get(const struct dep_heap_sizes *b, u64 address);
void dep_heap_sizes_remove(struct dep_heap_sizes *b, u64 address);
/** dep_heap_sizes_report() - note a size that the program asked for in interval @turn, not 0 */
void dep_heap_sizes_report(struct dep_heap_sizes *b, u64 address, u64 size, u64 turn);
/** dep_heap_sizes_reported() - did the program already ask in @turn and get the same @size? */
bool dep_heap_sizes_reported(const struct dep_heap_sizes *b, u64 address, u64 size, u64 turn);

#endif
