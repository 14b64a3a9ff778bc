/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How large the blocks are that a thread got from allocators, of the latest ones.
 *
 * Another thread may have freed one meanwhile, and what is there now may be larger: who needs to
 * be sure compares.
 */
#ifndef ADEPT_RECOVER_FILTER_HEAP_BLOCKS_H
#define ADEPT_RECOVER_FILTER_HEAP_BLOCKS_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_BLOCKS	4096u

/** struct dep_heap_sizes - zeroed, there are none; dep_heap_sizes_free() */
struct dep_heap_sizes {
	u64 *slot;
	u64 *told;		/* for each: the turn in which somebody asked; NULL: nobody has */
};

void dep_heap_sizes_free(struct dep_heap_sizes *b);
/** dep_heap_sizes_set() - it may be forgotten at once, as the largest ones are */
void dep_heap_sizes_set(struct dep_heap_sizes *b, u64 address, u64 size);
/** dep_heap_sizes_get() - its size, or 0: not known */
u64 dep_heap_sizes_get(const struct dep_heap_sizes *b, u64 address);
void dep_heap_sizes_remove(struct dep_heap_sizes *b, u64 address);
/** dep_heap_sizes_flush() - dep_heap_sizes_set(), because somebody asked in turn @turn, not 0 */
void dep_heap_sizes_flush(struct dep_heap_sizes *b, u64 address, u64 size, u64 turn);
/** dep_heap_sizes_flushed() - is that the same as in dep_heap_sizes_flush(), and no news since? */
bool dep_heap_sizes_flushed(const struct dep_heap_sizes *b, u64 address, u64 size, u64 turn);

#endif
