/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookup in nested address ranges: functions and inlined calls, units, symbols, variables. */
#ifndef ADEPT_SYMBOLS_BASE_RANGES_H
#define ADEPT_SYMBOLS_BASE_RANGES_H

#include "libdep/abi/types.h"

#define DEP_SPAN_NONE 0xffffffffu

struct dep_span {
	u64 lo, hi;
	u32 value, order;
};

/* From address @at up to the next cut, lookups give @value.  Packed to save memory. */
struct dep_span_cut {
	u64 at;
	u32 value;
} __attribute__((packed, aligned(4)));

/** struct dep_spans - set of ranges: begin with zeros; add all ranges, seal, then look up */
struct dep_spans {
	struct dep_span *span;
	struct dep_span_cut *cut;
	size_t n, room, ncuts;
};

/** dep_spans_add() - add range [lo, hi) with @value, unless it is empty; 0 or -ENOMEM */
int dep_spans_add(struct dep_spans *t, u64 lo, u64 hi, u32 value);

/**
 * dep_spans_seal() - prepare for lookups, after all ranges were added; 0 or -ENOMEM
 *
 * If several ranges contain an address, a lookup finds the one that begins last; of several with
 * the same beginning, the one that was added last.
 */
int dep_spans_seal(struct dep_spans *t);

/** dep_spans_find() - get the value of the range that contains @at, or DEP_SPAN_NONE */
u32 dep_spans_find(const struct dep_spans *t, u64 at);
/** dep_spans_end() - up to which address lookups give the same value as at @at */
u64 dep_spans_end(const struct dep_spans *t, u64 at);
void dep_spans_free(struct dep_spans *t);

#endif
