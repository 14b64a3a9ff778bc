// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * DEPm: each general register is UPDATED or RECORDED.  An instruction that uses an UPDATED register
 * in the address of a memory reference stores its value, 8 bytes, in the order of the registers'
 * numbers, and makes the register RECORDED.  Registers that an instruction writes become UPDATED.
 * All registers are UPDATED at the beginning of a thread, after a gap in the recording, and where
 * an event sets the registers.
 *
 * A string instruction with a repeat prefix stores the final value of its pointer register, too:
 * without it, the number of its references would not be known.
 */
#include <errno.h>

#include "libdep/format/file/error.h"
#include "paper_formats.h"

static void put_registers(struct paper *t, const struct dep_interp *r, u16 used)
{
	u16 store = used & t->updated;
	u32 i;

	t->updated &= (u16)~store;
	for (i = 0; store; i++, store >>= 1)
		if (store & 1)
			paper_put(t, DEP_PAPER_DEPM, r->slot[i], 8);
}

static bool is_memory(u8 code)
{
	return dep_op_is_ref(code) || code == DEP_O_STRING || code == DEP_O_GATHER ||
	       code == DEP_O_MASKED || code == DEP_O_ENTER;
}

void paper_before_op(struct paper *t, const struct dep_interp *r, const struct dep_program *p,
		     u32 k)
{
	const struct dep_op *op = &p->op[k];

	for (; t->at < t->last && k >= t->at->op_end; t->at++)
		t->updated |= t->at->gpr_write;
	if (!is_memory(op->code) || t->at == t->last)
		return;
	if (dep_op_is_ref(op->code) && op->src >= DEP_S_EA && op->src < DEP_S_TMP) {
		t->err = dep_fail(-ENOTSUP, "the recording has addresses instead of registers");
		return;
	}
	put_registers(t, r, t->at->gpr_addr);
	if (op->code == DEP_O_STRING && p->unusual[op->imm].string.rep)
		paper_put(t, DEP_PAPER_DEPM, *r->value, 8);
}

void paper_end_piece(struct paper *t)
{
	for (; t->at < t->to; t->at++)
		t->updated |= t->at->gpr_write;
	t->at = t->to = t->last = NULL;
}

void paper_interrupted(struct paper *t, const struct dep_interp *r, const struct dep_insn *in,
		       u64 post)
{
	put_registers(t, r, in->gpr_addr);
	paper_put(t, DEP_PAPER_DEPM, post, 8);
	t->updated |= in->gpr_write;
}
