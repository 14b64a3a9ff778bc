/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Emit machine instructions that have a register and a register or memory operand. */
#ifndef ADEPT_RECOVER_JIT_EMIT_H
#define ADEPT_RECOVER_JIT_EMIT_H

#include "libdep/x86/emit.h"

#define JIT_SLOT_BIAS	128	/* rbx is slot 0's address plus this: disp8 reaches all slots */

static inline s32 jit_slot(u8 slot)
{
	return (s32)slot * 8 - JIT_SLOT_BIAS;
}

/* Emit the REX prefix and the opcode.  An opcode above 0xff has two bytes, the first is 0f. */
static inline void jit_opcode(struct emit *e, u8 wide, u16 opcode, u8 reg, u8 index, u8 base)
{
	u8 rex = (u8)(0x40 | wide << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3);

	if (rex != 0x40)
		emit8(e, rex);
	if (opcode > 0xff)
		emit8(e, (u8)(opcode >> 8));
	emit8(e, (u8)opcode);
}

/* op reg, rm; @wide: 1 for 64 bits, 0 for 32 bits */
static inline void jit_reg(struct emit *e, u8 wide, u16 opcode, u8 reg, u8 rm)
{
	jit_opcode(e, wide, opcode, reg, 0, rm);
	emit8(e, (u8)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

static inline void jit_disp(struct emit *e, u8 reg, u8 rm, s32 disp)
{
	bool small = disp == (s8)disp;

	emit8(e, (u8)((small ? 0x40 : 0x80) | (reg & 7) << 3 | rm));
	/* rsp and r12 need a SIB byte. */
	if ((rm & 7) == 4)
		emit8(e, 0x24);
	if (small)
		emit8(e, (u8)disp);
	else
		emit32(e, (u32)disp);
}

/* op reg, [base + disp] */
static inline void jit_mem(struct emit *e, u8 wide, u16 opcode, u8 reg, u8 base, s32 disp)
{
	jit_opcode(e, wide, opcode, reg, 0, base);
	jit_disp(e, reg, base & 7, disp);
}

/* op reg, [base + (index << shift) + disp32]; index is not rsp */
static inline void jit_index(struct emit *e, u8 wide, u16 opcode, u8 reg, u8 base, u8 index,
			     u8 shift, s32 disp)
{
	jit_opcode(e, wide, opcode, reg, index, base);
	emit8(e, (u8)(0x84 | (reg & 7) << 3));
	emit8(e, (u8)(shift << 6 | (index & 7) << 3 | (base & 7)));
	emit32(e, (u32)disp);
}

/* Values of the pp field (mandatory prefix) of a VEX prefix. */
enum { JIT_VEX_NONE = 0, JIT_VEX_F2 = 3 };

/*
 * Emit shrx (@prefix JIT_VEX_F2) or bextr (JIT_VEX_NONE), opcode f7 of map 0f38: op reg, operand,
 * vvvv.  The operand is [rm + (index << 3) + disp32], or register @rm if @index is 0xff.
 */
static inline void jit_vex_f7(struct emit *e, u8 wide, u8 prefix, u8 reg, u8 rm, u8 index,
			      s32 disp, u8 vvvv)
{
	bool mem = index != 0xff;

	emit8(e, 0xc4);
	emit8(e, (u8)(!(reg >> 3) << 7 | !(mem && index >> 3) << 6 | !(rm >> 3) << 5 | 2));
	emit8(e, (u8)(wide << 7 | (~vvvv & 15) << 3 | prefix));
	emit8(e, 0xf7);
	if (!mem) {
		emit8(e, (u8)(0xc0 | (reg & 7) << 3 | (rm & 7)));
		return;
	}
	emit8(e, (u8)(0x84 | (reg & 7) << 3));
	emit8(e, (u8)(3 << 6 | (index & 7) << 3 | (rm & 7)));
	emit32(e, (u32)disp);
}

/* Opcode 81, op rm, imm32; @what: add 0, or 1, and 4, sub 5, xor 6, cmp 7 */
static inline void jit_imm(struct emit *e, u8 wide, u8 what, u8 rm, s32 imm)
{
	jit_reg(e, wide, 0x81, what, rm);
	emit32(e, (u32)imm);
}

/* Opcode c1, op rm, by; @what: rol 0, ror 1, shl 4, shr 5, sar 7 */
static inline void jit_shift(struct emit *e, u8 wide, u8 what, u8 rm, u8 by)
{
	jit_reg(e, wide, 0xc1, what, rm);
	emit8(e, by);
}

/* Emit jcc rel32.  Return: the rel32 field, for put_rel32().  @cc: low 4 bits of the opcode */
static inline u8 *jit_jump_if(struct emit *e, u8 cc)
{
	emit8(e, 0x0f);
	emit8(e, 0x80 | cc);
	emit32(e, 0);
	return e->p - 4;
}

#endif
