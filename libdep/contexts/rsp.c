// SPDX-License-Identifier: LGPL-2.1-or-later
/* Classify what an instruction does to rsp, and whether it makes rbp a frame pointer. */
#include "libdep/x86/derive.h"
#include "rsp.h"

static void add(struct dep_rsp_value *v, s64 by)
{
	if (v->how == DEP_RSP_ALIGN)
		v->align.after += by;
	else
		v->by += by;
}

static void round_down(struct dep_rsp_value *v, u64 mask)
{
	if (v->how == DEP_RSP_ADD) {
		v->how = DEP_RSP_ALIGN;
		v->align = (struct dep_align){ .before = v->by, .mask = mask };
	} else if (v->how != DEP_RSP_SET) {
		v->how = DEP_RSP_MOVED;
	}
}

static void become(struct dep_rsp_value *v, u8 how)
{
	if (how != DEP_RSP_MOVED || v->how != DEP_RSP_SET)
		v->how = how;
}

static void from_rbp(struct dep_rsp *r, s64 by)
{
	if (r->framed) {
		r->now = r->frame;
		add(&r->now, by);
	} else if (r->overwritten) {
		r->now.how = DEP_RSP_SET;
	} else {
		r->now.how = DEP_RSP_RBP;
		r->now.by = by;
	}
}

/*
 * lea rsp, [register - 8] in front of a return: a function that aligned its stack undoes this.
 * It is then as it was at the function's entry.
 */
static bool is_realigned(const struct x86_dop *op)
{
	return op->code == X86_D_LEA && op->src < 16 && op->src2 == X86_NONE && op->imm == -8;
}

static void change(struct dep_rsp *r, const struct x86_dop *op)
{
	bool plain = op->src == X86_RSP, alone = op->src2 == X86_NONE;

	if (op->size != 8)
		become(&r->now, DEP_RSP_SET);
	else if (plain && alone && (op->code == X86_D_ADD || op->code == X86_D_LEA))
		add(&r->now, op->imm);
	else if (plain && alone && op->code == X86_D_SUB)
		add(&r->now, -op->imm);
	else if (plain && alone && op->code == X86_D_AND)
		round_down(&r->now, (u64)op->imm);
	else if (plain && op->code == X86_D_SUB)
		become(&r->now, DEP_RSP_MOVED);
	/* Code of V8 drops a number of arguments. */
	else if (plain && op->code == X86_D_LEA && op->scale == 8)
		become(&r->now, DEP_RSP_MOVED);
	else if (op->src == X86_RBP && alone &&
		 (op->code == X86_D_MOV || op->code == X86_D_LEA || op->code == X86_D_ADD))
		from_rbp(r, op->code == X86_D_MOV ? 0 : op->imm);
	else
		become(&r->now, DEP_RSP_SET);
	r->from_register = is_realigned(op);
}

/* An operation on rbp: mov rbp, rsp, for example. */
static void change_frame(struct dep_rsp *r, const struct x86_dop *op)
{
	bool plain = op->size == 8 && op->src == X86_RSP && op->src2 == X86_NONE;

	r->framed = plain && (op->code == X86_D_MOV || op->code == X86_D_LEA ||
			      op->code == X86_D_SUB);
	r->overwritten = !r->framed;
	r->frame = r->now;
	if (op->code == X86_D_LEA)
		add(&r->frame, op->imm);
	else if (op->code == X86_D_SUB)
		add(&r->frame, -op->imm);
}

bool dep_rsp_frame(const struct dep_rsp *r, s64 *distance)
{
	const struct dep_rsp_value *a = &r->now, *b = &r->frame;

	if (!r->framed || a->how != b->how || a->how > DEP_RSP_ALIGN)
		return false;
	*distance = a->how == DEP_RSP_ADD ? a->by - b->by : a->align.after - b->align.after;
	return a->how == DEP_RSP_ADD || (a->align.before == b->align.before &&
					 a->align.mask == b->align.mask);
}

void dep_rsp_insn(struct dep_rsp *r, const struct x86_insn *in)
{
	const u16 both = X86_BIT(X86_RSP) | X86_BIT(X86_RBP);
	struct x86_dop ops[X86_MAX_DOPS];
	unsigned int n = 0, i;
	u16 found = 0;

	if (!(in->gpr_write & both))
		return;
	if (in->kind == X86_RET && r->now.how == DEP_RSP_SET && r->from_register)
		r->now.how = DEP_RSP_ENTRY;
	r->from_register = false;
	if (in->kind == X86_CALL || in->kind == X86_CALL_IND || in->kind == X86_RET)
		return;
	x86_derive(in, 0, 0xffff, ops, &n);
	for (i = 0; i < n; i++) {
		if (ops[i].dst == X86_RSP)
			change(r, &ops[i]);
		else if (ops[i].dst == X86_RBP)
			change_frame(r, &ops[i]);
		found |= ops[i].dst < 16 ? X86_BIT(ops[i].dst) : 0;
	}
	if (in->gpr_write & ~found & X86_BIT(X86_RSP))
		become(&r->now, DEP_RSP_SET);
	if (in->gpr_write & ~found & X86_BIT(X86_RBP)) {
		r->framed = false;
		r->overwritten = true;
	}
}
