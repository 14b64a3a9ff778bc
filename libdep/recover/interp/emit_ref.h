/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the interpreter emits references: all, or those that the filter lets through. */
#ifndef ADEPT_RECOVER_INTERP_EMIT_REF_H
#define ADEPT_RECOVER_INTERP_EMIT_REF_H

#include "run.h"

/* Which references are emitted: see filter/filter.h. */
enum dep_shown { DEP_SHOW_ALL, DEP_SHOW_FIRST, DEP_SHOW_WANTED };

static inline enum dep_shown dep_shown(const struct dep_interp *r)
{
	if (!r->filter)
		return DEP_SHOW_ALL;
	return r->filter->scope->wanted ? DEP_SHOW_WANTED : DEP_SHOW_FIRST;
}

/** dep_show_ref() - emit @ref; there is room for it */
static inline void dep_show_ref(struct dep_interp *r, const struct dep_ref *ref)
{
	struct dep_item *it = &r->out.item[r->out.n];

	it->kind = DEP_ITEM_REF;
	it->ref = *ref;
	r->out.n += r->out.want_ref;
}

/* ---- emit_ref.c ---- */

/** dep_put_first() - emit @ref if it is the first; return: did it begin an interval? */
bool dep_put_first(struct dep_interp *r, u8 code, struct dep_ref *ref);
/**
 * dep_put_deferred() - flush the deferred references of r->filter; 0 or r->failed
 * @last: also those that dep_filter_last() gives
 */
int dep_put_deferred(struct dep_interp *r, bool last);

/**
 * dep_put_ref() - emit @ref, unless the filter drops or defers it
 * @show: a constant where it matters, so that each loop has the code of its own case only
 * @code: enum dep_code of the instruction; sets @ref.origin
 *
 * Return: did it begin an interval?
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

/** dep_op_sum() - the base and index part of @op's address, without segment */
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
