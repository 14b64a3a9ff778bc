/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Atomic counters: words that threads increment with locked instructions whose result is unused,
 * such as statistics of an allocator.
 *
 * Such an instruction releases, but only a thread that reads the word can tell.  Until another
 * thread reads it, the instruction orders nothing.  This is for passes that tolerate missing order.
 * Any number of threads use the table at once, without a lock.  Entries can be lost at any time.
 */
#ifndef ADEPT_RECOVER_FILTER_ATOMIC_COUNTERS_H
#define ADEPT_RECOVER_FILTER_ATOMIC_COUNTERS_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_ATOMIC_COUNTERS	256u
#define DEP_ATOMIC_COUNTERS_OFTEN	256u	/* counts until a word is taken for a counter */

/** struct dep_atomic_counters - the table, empty if zeroed; one slot for 8 aligned bytes */
struct dep_atomic_counters {
	struct {
		u64 at;		/* address / 8; 0: none */
		u32 reader;	/* thread that has read it, DEP_ATOMIC_COUNTERS_MANY, or 0 */
		u32 n;		/* number of counts, up to DEP_ATOMIC_COUNTERS_OFTEN */
	} slot[DEP_ATOMIC_COUNTERS];
};

#define DEP_ATOMIC_COUNTERS_MANY	(~0u)

/**
 * dep_atomic_counters_count() - note that @thread, not 0, counts at @address
 *
 * Return: the word was counted often enough, and no other thread has read it since its first count.
 */
bool dep_atomic_counters_count(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread);
/** dep_atomic_counters_read() - note that an instruction of @thread uses the value of the word */
void dep_atomic_counters_read(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread);

#endif
