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

/* Packed: there are many, and a lookup reads few. */
struct dep_span_cut {
	u64 at;			/* first address */
	u32 value;		/* value up to the next cut */
} __attribute__((packed, aligned(4)));

/** struct dep_spans - zeroed at first; then filled, sealed, and queried */
struct dep_spans {
	struct dep_span *span;
	struct dep_span_cut *cut;
	size_t n, room, ncuts;
};

/** dep_spans_add() - [lo, hi) has @value; an empty range is ignored; 0 or -ENOMEM */
int dep_spans_add(struct dep_spans *t, u64 lo, u64 hi, u32 value);

/**
 * dep_spans_seal() - end the additions; 0 or -ENOMEM
 *
 * At each address the range that begins last counts; of those with the same begin, the one that was
 * added last.
 */
int dep_spans_seal(struct dep_spans *t);

/** dep_spans_find() - the value at @at, or DEP_SPAN_NONE */
u32 dep_spans_find(const struct dep_spans *t, u64 at);
void dep_spans_free(struct dep_spans *t);

#endif
