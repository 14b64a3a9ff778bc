/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is at an address, where ranges lie in each other: functions and what is inlined,
 * units, symbols, variables.
 */
#ifndef ADEPT_SYMBOLS_RANGES_H
#define ADEPT_SYMBOLS_RANGES_H

#include "libdep/abi/types.h"

#define DEP_SPAN_NONE 0xffffffffu

struct dep_span {
	u64 lo, hi;
	u32 value, order;
};

/* Packed: there are many, and who asks looks at few. */
struct dep_span_cut {
	u64 at;			/* from here on.. */
	u32 value;		/* ..it is this */
} __attribute__((packed, aligned(4)));

/** struct dep_spans - zeroed, then filled, then sealed, then asked */
struct dep_spans {
	struct dep_span *span;
	struct dep_span_cut *cut;
	size_t n, room, ncuts;
};

/** dep_spans_add() - [lo, hi) is @value; an empty range is left out; 0 or -ENOMEM */
int dep_spans_add(struct dep_spans *t, u64 lo, u64 hi, u32 value);

/**
 * dep_spans_seal() - decide what is where: the range that begins last, of those that
 *	begin together the one that was added last
 */
int dep_spans_seal(struct dep_spans *t);

/** dep_spans_find() - the value at @at or DEP_SPAN_NONE */
u32 dep_spans_find(const struct dep_spans *t, u64 at);
void dep_spans_free(struct dep_spans *t);

#endif
