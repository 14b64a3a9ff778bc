/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Emission of memory references by the interpreter, through the filter if there is one. */
#ifndef ADEPT_RECOVER_INTERP_EMIT_REF_H
#define ADEPT_RECOVER_INTERP_EMIT_REF_H

#include "run.h"

/* Emit all references, only first accesses in an interval, or only accesses to wanted words. */
enum dep_shown { DEP_SHOW_ALL, DEP_SHOW_FIRST, DEP_SHOW_WANTED };

static inline enum dep_shown dep_shown(const struct dep_interp *r)
{
	if (!r->filter)
		return DEP_SHOW_ALL;
	return r->filter->scope->wanted ? DEP_SHOW_WANTED : DEP_SHOW_FIRST;
}

/** dep_show_ref() - emit @ref; the caller has made room in the batch */
static inline void dep_show_ref(struct dep_interp *r, const struct dep_ref *ref)
{
	struct dep_item *it = &r->out.item[r->out.n];

	it->kind = DEP_ITEM_REF;
	it->ref = *ref;
	r->out.n += r->out.want_ref;
}

/* ---- emit_ref.c ---- */

/** dep_put_first() - emit @ref unless it is redundant.  Return: true if it began an interval */
bool dep_put_first(struct dep_interp *r, u8 code, struct dep_ref *ref);
/**
 * dep_put_deferred() - emit the deferred references of r->filter; 0 or r->failed
 * @last: also emit the last deferred reads one by one, see dep_filter_last()
 */
int dep_put_deferred(struct dep_interp *r, bool last);

/**
 * dep_put_ref() - emit @ref, unless the filter drops or defers it
 * @show: a constant in hot loops, so that the compiler makes a separate loop for each mode
 * @code: enum dep_code of the instruction, for @ref.origin
 *
 * Return: true if the reference began an interval.
 */
static inline __attribute__((always_inline)) bool dep_put_ref(struct dep_interp *r,
							      enum dep_shown show, u8 code,
							      struct dep_ref ref)
{
	ref.origin = show == DEP_SHOW_ALL ? 0 : code + 1;
	if (show == DEP_SHOW_FIRST)
		return dep_put_first(r, code, &ref);
	if (show == DEP_SHOW_WANTED &&
	    !dep_filter_wants(r->filter, code, ref.addr, ref.size, ref.type))
		return false;
	dep_show_ref(r, &ref);
	return false;
}

/** dep_op_sum() - base + (index << shift) + displacement of @op, without the segment base */
static inline __attribute__((always_inline)) u64 dep_op_sum(const struct dep_op *op,
							    const u64 *slot)
{
	return slot[op->src] + (slot[op->src2] << op->shift) + (u64)(s64)op->imm;
}

/* ---- dynamic_ops.c ---- */

/** dep_interp_dynamic() - run a DEP_O_STRING, GATHER, MASKED or ENTER; 0 or an error */
int dep_interp_dynamic(struct dep_interp *r, const struct dep_program *p, const struct dep_op *op,
		       u64 pc);

#endif
