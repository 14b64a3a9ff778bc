/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the machine code of recovery has in its registers:
 *
 *	rbx	slots of its dep_interp, 128 bytes above the first one, so that bytes reach all
 *	rbp	dep_jit.table
 *	r12	its values
 *	r13	the control stream, after its exit
 *	r14	its filter
 *	r15	where code begins
 *	xmm0, 1	what is counted
 *	r9..11	NUMBER_SHIFT, WAY and WORD, where there are instructions (BMI) that take them there
 *
 * All others are free.
 */
#ifndef ADEPT_RECOVER_JIT_REGS_H
#define ADEPT_RECOVER_JIT_REGS_H

#include <stddef.h>

#include "emit.h"
#include "libdep/recover/interp/run.h"

/* Bits of an address for bextr: where they begin, and how many they are. */
#define BITS(from, n)	((n) << 8 | (from))
#define NUMBER_SHIFT	12u		/* of a page */
#define WAY		BITS(12u, 10u)	/* to the page */
#define WORD		BITS(6u, 6u)	/* in the page's maps */

/* Conditions. */
enum { CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7 };
/* Operations of jit_imm(). */
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
