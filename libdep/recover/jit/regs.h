/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Register assignment of the machine code of recovery:
 *
 *	rbx	address of dep_interp.slot + JIT_SLOT_BIAS: 8-bit displacements reach all slots
 *	rbp	dep_jit.table
 *	r12	values of the current record
 *	r13	position in the control column, after the id of the current exit
 *	r14	the dep_filter
 *	r15	dep_jit.code
 *	xmm0, 1	counts: eight 32-bit numbers, added to dep_interp.counts at the end
 *	r9..11	the constants NUMBER_SHIFT, WAY and WORD, as operands of BMI instructions
 *
 * Other registers are scratch registers.
 */
#ifndef ADEPT_RECOVER_JIT_REGS_H
#define ADEPT_RECOVER_JIT_REGS_H

#include <stddef.h>

#include "emit.h"
#include "libdep/recover/interp/run.h"

/* Control operand of bextr: number of the first bit, and number of bits. */
#define BITS(from, n)	((n) << 8 | (from))
#define NUMBER_SHIFT	12u		/* an address shifted right by this is a page number */
#define WAY		BITS(12u, 10u)	/* index in the page cache */
#define WORD		BITS(6u, 6u)	/* index of a 64-bit word in the bitmaps of a page */

/* Condition codes of jcc. */
enum { CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7 };
/* Values of @what for jit_imm(). */
enum { OP_ADD = 0, OP_AND = 4, OP_SUB = 5, OP_CMP = 7 };

#define IN_RUN(member)	((s32)offsetof(struct dep_interp, member) - \
			 (s32)offsetof(struct dep_interp, slot) - JIT_SLOT_BIAS)
#define IN_FILTER(member)	((s32)offsetof(struct dep_filter, member))

static inline void jit_branch(struct emit *e, const u8 *to)
{
	emit_branch(e, 0xe9, to);
}

static inline void jit_branch_if(struct emit *e, u8 cc, const u8 *to)
{
	u8 *field = jit_jump_if(e, cc);

	if (!e->overflow)
		put_rel32(field, to);
}

#endif
