/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Symbolic addresses: each address that a fragment accesses, as a sum of unknown values and a
 * constant.  The distance of two addresses is known if their unknown values are the same.
 */
#ifndef ADEPT_RECOVER_PROGRAM_SYMBOLIC_ADDR_H
#define ADEPT_RECOVER_PROGRAM_SYMBOLIC_ADDR_H

#include <stdbool.h>

#include "program.h"

/** struct dep_sum - content of a slot: unknown value number @value (0: none) plus a constant */
struct dep_sum {
	u32 value;
	u64 plus;
};

struct dep_symbolic_addrs {
	struct dep_sum slot[DEP_SLOTS];
	u64 base;		/* current base: dep_program.base, or the last DEP_O_BASE */
	u32 values;		/* number of unknown values so far */
};

/**
 * struct dep_sum_place - an address: @base + (@index << @shift) + @seg + @plus
 *
 * @base, @index and @seg are numbers of unknown values, 0 for none.
 */
struct dep_sum_place {
	u32 base, index, seg;
	u8 shift;
	u64 plus;
};

/** dep_symbolic_addrs_init() - begin before the first operation of @p: all slots are unknown */
void dep_symbolic_addrs_init(struct dep_symbolic_addrs *s, const struct dep_program *p);
/** dep_symbolic_addrs_follow() - apply the effect of operation @op of @p */
void dep_symbolic_addrs_follow(struct dep_symbolic_addrs *s, const struct dep_program *p,
			       const struct dep_op *op);
/**
 * dep_symbolic_addrs_word() - address of a reference @op (DEP_O_REF0 to _REFX); ignores addr32
 */
struct dep_sum_place dep_symbolic_addrs_word(const struct dep_symbolic_addrs *s,
					     const struct dep_op *op);

/** dep_symbolic_addrs_near() - do the addresses differ by a constant? */
static inline bool dep_symbolic_addrs_near(const struct dep_sum_place *a,
					   const struct dep_sum_place *b)
{
	return a->base == b->base && a->index == b->index && a->shift == b->shift &&
	       a->seg == b->seg;
}

#endif
