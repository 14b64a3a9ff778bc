/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words that threads count in, by locked instructions whose result they do not look at: numbers
 * of allocations, say.
 *
 * Such an instruction releases, but that matters only to who reads the word.  While nobody else
 * has, it need not order anything in a pass that may do with less order.  Any number of threads
 * at once; all may be forgotten.
 */
#ifndef ADEPT_RECOVER_FILTER_ATOMIC_COUNTERS_H
#define ADEPT_RECOVER_FILTER_ATOMIC_COUNTERS_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_ATOMIC_COUNTERS		256u
#define DEP_ATOMIC_COUNTERS_OFTEN	256u	/* who counts so often, counts */

/** struct dep_atomic_counters - zeroed, there are none; aligned 8 bytes each */
struct dep_atomic_counters {
	struct {
		u64 at;		/* address / 8; 0: none */
		u32 reader;	/* a thread, DEP_ATOMIC_COUNTERS_MANY, or 0 */
		u32 n;		/* so often it was counted in, up to DEP_ATOMIC_COUNTERS_OFTEN */
	} slot[DEP_ATOMIC_COUNTERS];
};

#define DEP_ATOMIC_COUNTERS_MANY	(~0u)

/**
 * dep_atomic_counters_count() - @thread, not 0, counts there
 *
 * Return: it did often enough, and nobody else has read it.
 */
bool dep_atomic_counters_count(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread);
/** dep_atomic_counters_read() - @thread reads there, by any instruction that sees what it read */
void dep_atomic_counters_read(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread);

#endif
