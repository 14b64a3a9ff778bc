// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Filtered programs: the operations of a fragment that the redundant-access filter (filter.h)
 * needs.  They have no blocks and calls, and no reference that an earlier reference in the same
 * record always covers, whatever the register values are (symbolic_addr.h).
 *
 * A plain write to an atomic word begins an interval, in which later references are not redundant.
 * When that happens, the interpreter continues the record with the whole program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dep/recover.h"
#include "libdep/format/file/error.h"
#include "filtered_program.h"
#include "access_set.h"
#include "libdep/recover/program/symbolic_addr.h"

#define SEEN	64u

struct seen {
	struct dep_sum_place at;
	u16 size;
	bool write;
};

struct filtered {
	struct dep_symbolic_addrs sums;
	struct seen seen[SEEN];
	u32 nseen;
	u8 origin;
};

bool dep_filtered_ends(u8 code)
{
	return code == DEP_O_TIMESTAMP || code == DEP_O_FUNCTION || code == DEP_O_STRING ||
	       code == DEP_O_GATHER || code == DEP_O_MASKED || code == DEP_O_ENTER;
}

static bool covers(const struct seen *a, const struct seen *b)
{
	u64 distance = b->at.plus - a->at.plus;

	return dep_symbolic_addrs_near(&a->at, &b->at) && distance < a->size &&
	       distance + b->size <= a->size && (a->write || !b->write);
}

static bool is_again(struct filtered *l, const struct dep_op *op)
{
	struct seen s = { dep_symbolic_addrs_word(&l->sums, op), op->size, op->type & DEP_WRITE };
	u32 i;

	if (op->addr32)
		return false;
	if (op->origin != l->origin)
		l->nseen = 0;
	l->origin = op->origin;
	for (i = l->nseen; i--;)
		if (covers(&l->seen[i], &s))
			return true;
	if (l->nseen < SEEN)
		l->seen[l->nseen++] = s;
	return false;
}

static struct dep_filtered_op filtered_of(const struct dep_program *p, u32 i, bool locked)
{
	const struct dep_op *op = &p->op[i];
	struct dep_filtered_op out = {
		.code = op->code, .dst = op->dst, .src = op->src, .src2 = op->src2,
		.shift = op->shift & 63, .of = (u16)i, .imm = op->imm,
	};

	if (!dep_op_is_ref(op->code)) {
		/*
		 * Filtered programs have no DEP_O_BASE, so they cannot know which base DEP_O_NEAR
		 * means.  For DEP_O_WIDE the interpreter runs the operation of the whole program.
		 */
		if (op->code == DEP_O_NEAR && p->rebased)
			out.code = DEP_O_WIDE;
		return out;
	}
	if (locked || op->addr32 || op->size - 1u >= DEP_ACCESS_SET_AT_ONCE ||
	    (op->code == DEP_O_REF0 && p->rebased))
		out.code = DEP_O_REFX;
	out.dst = op->origin;
	out.size = (u8)op->size;
	out.write = !!(op->type & DEP_WRITE);
	return out;
}

static bool is_left_out(struct filtered *l, const struct dep_op *op)
{
	return op->code == DEP_O_BLOCK || op->code == DEP_O_CALL || op->code == DEP_O_BASE ||
	       (dep_op_is_ref(op->code) && is_again(l, op));
}

/* Write the filtered program to @out, which has room for p->nops.  Return: number of operations. */
static u32 fill(struct dep_program *p, struct dep_filtered_op *out)
{
	struct filtered l = { .origin = 0 };
	bool locked = false;
	u32 i, n = 0, x;

	dep_symbolic_addrs_init(&l.sums, p);
	for (i = 0; i < p->nops; i++) {
		const struct dep_op *op = &p->op[i];

		if (op->code == DEP_O_TIMESTAMP)
			locked = !(op->size & DEP_TK_AFTER);
		if (dep_filtered_ends(op->code))
			l.nseen = 0;
		if (!is_left_out(&l, op))
			out[n++] = filtered_of(p, i, locked);
		dep_symbolic_addrs_follow(&l.sums, p, op);
		for (x = 0; x < p->d->nexits; x++)
			if (p->exit[x].op_end == i + 1)
				p->exit[x].filtered_end = (u16)n;
	}
	return n;
}

int dep_filtered_make(struct dep_program *p)
{
	struct dep_filtered_op *all = malloc(p->nops * sizeof(*all) + 1), *filtered = NULL;
	u32 n;

	if (all) {
		n = fill(p, all);
		filtered = malloc(n * sizeof(*filtered) + 1);
		if (filtered)
			memcpy(filtered, all, n * sizeof(*filtered));
	}
	free(all);
	p->filtered = filtered;
	return filtered ? 0 : dep_fail(-ENOMEM, "filtered program");
}
