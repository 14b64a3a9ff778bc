/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Machine code emitter for the instructions that the engine adds.  None of the instructions changes
 * a flag, because the flags are the program's.
 */
#ifndef ADEPT_X86_EMIT_H
#define ADEPT_X86_EMIT_H

#include "decode.h"

struct emit {
	u8 *p;
	u8 *end;
	int overflow;	/* 1: the buffer was too small, so discard the result */
};

static inline void emit8(struct emit *e, u8 v)
{
	if (e->p < e->end)
		*e->p++ = v;
	else
		e->overflow = 1;
}

static inline void emit32(struct emit *e, u32 v)
{
	if (e->p + 4 <= e->end) {
		__builtin_memcpy(e->p, &v, 4);
		e->p += 4;
	} else {
		e->overflow = 1;
	}
}

static inline void emit64(struct emit *e, u64 v)
{
	emit32(e, (u32)v);
	emit32(e, (u32)(v >> 32));
}

static inline void emit_bytes(struct emit *e, const u8 *b, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		emit8(e, b[i]);
}

static inline int fits32(s64 v)
{
	return v == (s32)v;
}

/* Emit mov reg, gs:[off] (opcode 8b) or mov gs:[off], reg (opcode 89); off is a TLS_* offset. */
static inline void emit_gs_op(struct emit *e, u8 opcode, u8 reg, u32 off)
{
	emit8(e, 0x65);
	emit8(e, 0x48 | (reg >> 3) << 2);
	emit8(e, opcode);
	emit8(e, 0x04 | (reg & 7) << 3);
	emit8(e, 0x25);
	emit32(e, off);
}

static inline void emit_load_gs(struct emit *e, u8 reg, u32 off)
{
	emit_gs_op(e, 0x8b, reg, off);
}

/* Emit mov reg32, gs:[off]; it clears bits 63:32. */
static inline void emit_load_gs32(struct emit *e, u8 reg, u32 off)
{
	emit8(e, 0x65);
	if (reg >= 8)
		emit8(e, 0x44);
	emit8(e, 0x8b);
	emit8(e, (u8)(0x04 | (reg & 7) << 3));
	emit8(e, 0x25);
	emit32(e, off);
}

static inline void emit_store_gs(struct emit *e, u8 reg, u32 off)
{
	emit_gs_op(e, 0x89, reg, off);
}

/* Emit mov dword gs:[off], imm32. */
static inline void emit_store_gs_imm(struct emit *e, u32 off, u32 imm)
{
	emit8(e, 0x65);
	emit8(e, 0xc7);
	emit8(e, 0x04);
	emit8(e, 0x25);
	emit32(e, off);
	emit32(e, imm);
}

static inline void emit_mov_imm64(struct emit *e, u8 reg, u64 imm)
{
	if (imm <= 0xffffffffu) {
		if (reg >= 8)
			emit8(e, 0x41);
		emit8(e, 0xb8 | (reg & 7));
		emit32(e, (u32)imm);
		return;
	}
	emit8(e, 0x48 | reg >> 3);
	emit8(e, 0xb8 | (reg & 7));
	emit64(e, imm);
}

/* Emit op reg, [base + disp] with REX.W; base must not be rsp or r12. */
static inline void emit_rm64(struct emit *e, u8 opcode, u8 reg, u8 base, s32 disp)
{
	int small = disp == (s8)disp;

	emit8(e, 0x48 | (reg >> 3) << 2 | base >> 3);
	emit8(e, opcode);
	emit8(e, (small ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
	if (small)
		emit8(e, (u8)disp);
	else
		emit32(e, (u32)disp);
}

/* Emit lea rsp, [rsp + disp8]. */
static inline void emit_lea_rsp(struct emit *e, s8 disp)
{
	emit8(e, 0x48);
	emit8(e, 0x8d);
	emit8(e, 0x64);
	emit8(e, 0x24);
	emit8(e, (u8)disp);
}

#define EMIT_LEA_RSP_LEN	5

static inline void put_rel32(u8 *field, const u8 *target)
{
	u32 rel = (u32)(target - (field + 4));

	__builtin_memcpy(field, &rel, 4);
}

/* Emit jmp or call rel32 to an address within 2 GiB. */
static inline void emit_branch(struct emit *e, u8 opcode, const u8 *target)
{
	emit8(e, opcode);
	emit32(e, 0);
	if (!fits32(target - e->p))
		e->overflow = 1;
	if (!e->overflow)
		put_rel32(e->p - 4, target);
}

/*
 * Emit padding so that the four bytes at p + ahead are aligned.  Then this field can be rewritten
 * by one store while other threads run the code.  (Processors only need it to be within one cache
 * line, but emulators write unaligned code byte by byte.)  The padding consists of prefixes that
 * have no effect on the next branch: a nop would prevent the processor from fusing the branch with
 * the comparison before it.
 */
static inline void emit_align_field(struct emit *e, unsigned int ahead)
{
	while (((u64)e->p + ahead) & 3)
		emit8(e, 0x2e);
}

/* Memory operand with any base and index, for emit_op_mem(). */
struct emit_operand {
	u8 base, index;		/* enum x86_reg or X86_NONE; not rip */
	u8 scale_bits;		/* log2 of the factor of the index */
	u8 seg;			/* segment prefix byte; 0: none */
	u8 addr32;
	s32 disp;
};

/* Emit op reg, [operand] with REX.W and a one-byte opcode. */
static inline void emit_op_mem(struct emit *e, u8 opcode, u8 reg, const struct emit_operand *m)
{
	u8 base = m->base == X86_NONE ? 5 : m->base;
	u8 index = m->index == X86_NONE ? 4 : m->index;
	u8 mod = m->base == X86_NONE || (!m->disp && (base & 7) != 5) ? 0 :
		 m->disp == (s8)m->disp ? 0x40 : 0x80;

	if (m->seg)
		emit8(e, m->seg);
	if (m->addr32)
		emit8(e, 0x67);
	emit8(e, 0x48 | (reg >> 3) << 2 | (m->index == X86_NONE ? 0 : (index >> 3) << 1) |
		 (m->base == X86_NONE ? 0 : base >> 3));
	emit8(e, opcode);
	emit8(e, (u8)(mod | 0x04 | (reg & 7) << 3));
	emit8(e, (u8)(m->scale_bits << 6 | (index & 7) << 3 | (base & 7)));
	if (mod == 0x40)
		emit8(e, (u8)m->disp);
	else if (mod || m->base == X86_NONE)
		emit32(e, (u32)m->disp);
}

#endif
