// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Lean programs: what of a fragment's operations is left where of repeated accesses only the
 * first one is shown (sieve.h).  There are no blocks and no calls, and no references that another
 * one of the same execution makes needless, whatever the values are: addresses are compared as
 * sums of unknown values and constants.
 *
 * A plain write that turns out to order threads makes what follows new.  Then the execution goes
 * on with all operations.
 */
#include <string.h>

#include "lean.h"

#define SEEN	64u

/* What a slot has: an unknown value, 0 none, and a constant. */
struct sum {
	u32 value;
	u64 plus;
};

struct seen {
	u32 base, index, seg;
	u64 plus;
	u16 size;
	u8 shift;
	bool write;
};

struct lean {
	struct sum slot[DEP_SLOTS];
	u32 values;
	struct seen seen[SEEN];
	u32 nseen;
	u8 whose;
};

static void set_unknown(struct lean *l, u8 slot)
{
	if (slot != DEP_S_ZERO)
		l->slot[slot] = (struct sum){ ++l->values, 0 };
}

static void derive(struct lean *l, const struct x86_dop *d, u32 n)
{
	/* All read before the first one writes. */
	struct sum from = n == 1 && d->src < 16 ? l->slot[d->src] : (struct sum){ 0, 0 };
	bool moved = n == 1 && d->code == X86_D_MOV && d->size == 8 && d->src < 16;
	u32 i;

	for (i = 0; i < n; i++) {
		set_unknown(l, d[i].dst);
		if (d[i].code == X86_D_XCHG && d[i].src < 16)
			set_unknown(l, d[i].src);
	}
	if (moved)
		l->slot[d->dst] = from;
}

/* What an operation does to the slots. */
static void follow(struct lean *l, const struct dep_program *p, const struct dep_op *op)
{
	switch ((enum dep_op_code)op->code) {
	case DEP_O_CONST:
		l->slot[op->dst] = (struct sum){ 0, op->imm };
		break;
	case DEP_O_ADD:
		l->slot[op->dst] = l->slot[op->src];
		l->slot[op->dst].plus += op->imm;
		break;
	case DEP_O_LOAD:
	case DEP_O_LEA:
	case DEP_O_LOW8:
	case DEP_O_BITOFF:
		set_unknown(l, op->dst);
		break;
	case DEP_O_DERIVE:
		derive(l, &p->dop[op->imm], op->size);
		break;
	case DEP_O_STRING:
		set_unknown(l, p->string[op->imm].ptr);
		set_unknown(l, p->string[op->imm].other);
		break;
	default:
		break;
	}
}

static bool is_ref(const struct dep_op *op)
{
	return op->code >= DEP_O_REF0 && op->code <= DEP_O_REFX;
}

/* Behind these nothing is known of who has accessed what. */
static bool is_turn(const struct dep_op *op)
{
	return op->code == DEP_O_TICKET || op->code == DEP_O_FUNCTION || op->code == DEP_O_STRING ||
	       op->code == DEP_O_GATHER || op->code == DEP_O_MASKED || op->code == DEP_O_ENTER;
}

static struct seen place_of(const struct lean *l, const struct dep_op *op)
{
	struct seen s = { .plus = op->imm, .size = op->size, .write = op->type & DEP_WRITE };

	if (op->code >= DEP_O_REF1) {
		s.base = l->slot[op->src].value;
		s.plus += l->slot[op->src].plus;
	}
	if (op->code >= DEP_O_REF2 && op->src2 != DEP_S_ZERO) {
		s.index = l->slot[op->src2].value;
		s.shift = op->shift;
		s.plus += l->slot[op->src2].plus << op->shift;
	}
	if (op->code == DEP_O_REFX) {
		s.seg = l->slot[op->dst].value;
		s.plus += l->slot[op->dst].plus;
	}
	return s;
}

static bool covers(const struct seen *a, const struct seen *b)
{
	return a->base == b->base && a->index == b->index && a->shift == b->shift &&
	       a->seg == b->seg && b->plus - a->plus < a->size &&
	       b->plus - a->plus + b->size <= a->size && (a->write || !b->write);
}

static bool is_again(struct lean *l, const struct dep_op *op)
{
	struct seen s = place_of(l, op);
	u32 i;

	if (op->addr32)
		return false;
	if (op->whose != l->whose)
		l->nseen = 0;
	l->whose = op->whose;
	for (i = l->nseen; i--;)
		if (covers(&l->seen[i], &s))
			return true;
	if (l->nseen < SEEN)
		l->seen[l->nseen++] = s;
	return false;
}

static struct dep_lean_op lean_of(const struct dep_program *p, u32 i, bool locked)
{
	const struct dep_op *op = &p->op[i];
	struct dep_lean_op out = {
		.code = op->code, .dst = op->dst, .src = op->src, .src2 = op->src2,
		.shift = op->shift, .whose = op->whose, .of = (u16)i, .imm = (s32)op->imm,
	};
	bool fits = (s64)op->imm == (s32)op->imm;
	u32 bytes;

	if (!is_ref(op)) {
		/* It is done by the whole program's operation. */
		if (!fits && (op->code == DEP_O_ADD || op->code == DEP_O_LEA))
			out.code = DEP_O_LOW8;
		return out;
	}
	if (locked || op->addr32 || op->code == DEP_O_REFX || op->size - 1u > 7 ||
	    (!fits && op->code != DEP_O_REF0)) {
		out.code = DEP_O_REFX;
		return out;
	}
	bytes = 0xffu >> (8 - op->size);
	out.bits = op->type & DEP_WRITE ? bytes << 8 | bytes : bytes;
	out.room = 8 - op->size;
	return out;
}

static bool is_left_out(struct lean *l, const struct dep_op *op)
{
	return op->code == DEP_O_BLOCK || op->code == DEP_O_CALL || (is_ref(op) && is_again(l, op));
}

void dep_lean_make(struct dep_program *p)
{
	struct lean l = { .whose = 0 };
	bool locked = false;
	u32 i, n = 0, x;

	for (i = 0; i < DEP_SLOTS; i++)
		set_unknown(&l, (u8)i);
	for (i = 0; i < p->nops; i++) {
		const struct dep_op *op = &p->op[i];

		if (op->code == DEP_O_TICKET)
			locked = !(op->size & DEP_TK_BEHIND);
		if (is_turn(op))
			l.nseen = 0;
		if (!is_left_out(&l, op))
			p->lean[n++] = lean_of(p, i, locked);
		follow(&l, p, op);
		for (x = 0; x < p->d->nexits; x++)
			if (p->exit[x].op_end == i + 1)
				p->exit[x].lean_end = n;
	}
}
