/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Atomic counters: words that threads increment with locked instructions whose result is unused,
 * such as statistics of an allocator.
 *
 * Such an instruction is a release, but it orders threads only if another thread reads the word.
 * So the filter can treat it as ordering nothing until then.  This can miss an order, so it is only
 * for analysis passes that tolerate that.  Any number of threads use the table concurrently,
 * without a lock.  Counts can be lost at any time.
 */
#ifndef ADEPT_RECOVER_FILTER_ATOMIC_COUNTERS_H
#define ADEPT_RECOVER_FILTER_ATOMIC_COUNTERS_H

#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_ATOMIC_COUNTERS	256u
/* A word is taken for a counter after this number of increments. */
#define DEP_ATOMIC_COUNTERS_OFTEN	256u

/** struct dep_atomic_counters - the table, empty if zeroed; a slot is for 8 aligned bytes */
struct dep_atomic_counters {
	struct {
		u64 at;		/* address / 8; 0: free slot */
		/* the only thread that has read the word; 0: none; DEP_ATOMIC_COUNTERS_MANY */
		u32 reader;
		u32 n;		/* number of increments, up to DEP_ATOMIC_COUNTERS_OFTEN */
	} slot[DEP_ATOMIC_COUNTERS];
};

#define DEP_ATOMIC_COUNTERS_MANY	(~0u)

/**
 * dep_atomic_counters_count() - record that @thread (not 0) increments the counter at @address
 *
 * Return: true if the word was incremented often enough before, and no other thread has read it
 * since its first increment.
 */
bool dep_atomic_counters_count(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread);
/** dep_atomic_counters_read() - record that @thread uses the value at @address */
void dep_atomic_counters_read(struct dep_atomic_counters *c, u64 address, u32 size, u32 thread);

#endif
