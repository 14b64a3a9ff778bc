/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of a fragment's addresses is known whatever the values are: each is a sum of unknown
 * values and a constant, and of two with the same unknown values the distance is known.
 */
#ifndef ADEPT_RECOVER_PROGRAM_SYMBOLIC_ADDR_H
#define ADEPT_RECOVER_PROGRAM_SYMBOLIC_ADDR_H

#include <stdbool.h>

#include "program.h"

/** struct dep_sum - what a slot has: an unknown value, 0 none, and a constant */
struct dep_sum {
	u32 value;
	u64 plus;
};

struct dep_symbolic_addrs {
	struct dep_sum slot[DEP_SLOTS];
	u64 base;		/* of dep_op.pc and .imm */
	u32 values;
};

/** struct dep_sum_place - an address: base + (index << shift) + seg + plus */
struct dep_sum_place {
	u32 base, index, seg;
	u8 shift;
	u64 plus;
};

/** dep_symbolic_addrs_init() - in front of the first operation of @p */
void dep_symbolic_addrs_init(struct dep_symbolic_addrs *s, const struct dep_program *p);
/** dep_symbolic_addrs_follow() - after @op of @p */
void dep_symbolic_addrs_follow(struct dep_symbolic_addrs *s, const struct dep_program *p,
			       const struct dep_op *op);
/**
 * dep_symbolic_addrs_word() - where @op, one of DEP_O_REF0 to DEP_O_REFX, is; not where it is cut
 */
struct dep_sum_place dep_symbolic_addrs_word(const struct dep_symbolic_addrs *s,
					     const struct dep_op *op);

/** dep_symbolic_addrs_near() - do they differ by a constant? */
static inline bool dep_symbolic_addrs_near(const struct dep_sum_place *a,
					   const struct dep_sum_place *b)
{
	return a->base == b->base && a->index == b->index && a->shift == b->shift &&
	       a->seg == b->seg;
}

#endif
