// SPDX-License-Identifier: LGPL-2.1-or-later
#include "symbolic_addr.h"

static void set_unknown(struct dep_symbolic_addrs *s, u8 slot)
{
	if (slot != DEP_S_ZERO)
		s->slot[slot] = (struct dep_sum){ ++s->values, 0 };
}

void dep_symbolic_addrs_init(struct dep_symbolic_addrs *s, const struct dep_program *p)
{
	u32 i;

	s->base = p->base;
	s->values = 0;
	s->slot[DEP_S_ZERO] = (struct dep_sum){ 0, 0 };
	for (i = 0; i < DEP_SLOTS; i++)
		set_unknown(s, (u8)i);
}

static void derive(struct dep_symbolic_addrs *s, const struct x86_dop *d, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		set_unknown(s, d[i].dst);
		if (d[i].code == X86_D_XCHG && d[i].src < 16)
			set_unknown(s, d[i].src);
	}
}

void dep_symbolic_addrs_follow(struct dep_symbolic_addrs *s, const struct dep_program *p,
			       const struct dep_op *op)
{
	switch ((enum dep_op_code)op->code) {
	case DEP_O_CONST:
		s->slot[op->dst] = (struct dep_sum){ 0, (u64)(s64)op->imm };
		break;
	case DEP_O_NEAR:
		s->slot[op->dst] = (struct dep_sum){ 0, s->base + (u64)(s64)op->imm };
		break;
	case DEP_O_WIDE:
		s->slot[op->dst] = (struct dep_sum){ 0, p->wide[op->imm] };
		break;
	case DEP_O_BASE:
		s->base = p->wide[op->imm];
		break;
	case DEP_O_LEA:
		if (op->src2 != DEP_S_ZERO) {
			set_unknown(s, op->dst);
			break;
		}
		/* fall through */
	case DEP_O_ADD:
		s->slot[op->dst] = s->slot[op->src];
		s->slot[op->dst].plus += (u64)(s64)op->imm;
		break;
	case DEP_O_LOAD:
	case DEP_O_LOW8:
	case DEP_O_BITOFF:
		set_unknown(s, op->dst);
		break;
	case DEP_O_DERIVE:
		derive(s, &p->dop[op->imm], op->size);
		break;
	case DEP_O_STRING:
		set_unknown(s, p->unusual[op->imm].string.ptr);
		set_unknown(s, p->unusual[op->imm].string.other);
		break;
	default:
		break;
	}
}

struct dep_sum_place dep_symbolic_addrs_word(const struct dep_symbolic_addrs *s,
					     const struct dep_op *op)
{
	struct dep_sum_place at = { .plus = (u64)(s64)op->imm };

	if (op->code == DEP_O_REF0)
		at.plus += s->base;
	if (op->code >= DEP_O_REF1) {
		at.base = s->slot[op->src].value;
		at.plus += s->slot[op->src].plus;
	}
	if (op->code >= DEP_O_REF2 && op->src2 != DEP_S_ZERO) {
		at.index = s->slot[op->src2].value;
		at.shift = at.index ? op->shift : 0;
		at.plus += s->slot[op->src2].plus << op->shift;
	}
	if (op->code == DEP_O_REFX) {
		at.seg = s->slot[op->dst].value;
		at.plus += s->slot[op->dst].plus;
	}
	return at;
}
