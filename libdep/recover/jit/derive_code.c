// SPDX-License-Identifier: LGPL-2.1-or-later
/* Machine code for register derivations, equivalent to x86_derive_run(); slots are at rbx. */
#include "internal.h"
#include "emit.h"

bool dep_jit_derives(const struct x86_dop *d)
{
	if (d->code == X86_D_LEA)
		return d->size >= 4 && fits32(d->imm);
	if (d->size < 4 && (d->code == X86_D_ROL || d->code == X86_D_ROR || d->code == X86_D_BSWAP))
		return false;
	return d->code != X86_D_XCHG && !d->dst_high && !d->src_high && !d->src2_high;
}

/* reg = the low @size bytes of slot @from, zero-extended; 0 if @from is no register */
static void get(struct emit *e, u8 reg, u8 from, u8 size)
{
	u16 opcode = size == 1 ? 0x0fb6 : size == 2 ? 0x0fb7 : 0x8b;

	if (from < 16)
		jit_mem(e, size == 8, opcode, reg, X86_RBX, jit_slot(from));
	else
		jit_reg(e, 0, 0x31, reg, reg);
}

static void get_signed(struct emit *e, u8 reg, u8 from, u8 size)
{
	u16 opcode = size == 1 ? 0x0fbe : size == 2 ? 0x0fbf : size == 4 ? 0x63 : 0x8b;

	jit_mem(e, 1, opcode, reg, X86_RBX, jit_slot(from));
}

static void put(struct emit *e, u8 slot, u8 size)
{
	if (size == 2)
		emit8(e, 0x66);
	jit_mem(e, size >= 4, size == 1 ? 0x88 : 0x89, X86_RAX, X86_RBX, jit_slot(slot));
}

/* rax = rax op src2, where src2 is a slot or the constant d->imm */
static void arithmetic(struct emit *e, u16 opcode, const struct x86_dop *d)
{
	if (d->src2 == X86_NONE)
		emit_mov_imm64(e, X86_RCX, (u64)d->imm);
	else
		get(e, X86_RCX, d->src2, d->size);
	if (opcode > 0xff)
		jit_reg(e, d->size == 8, opcode, X86_RAX, X86_RCX);
	else
		jit_reg(e, d->size == 8, opcode, X86_RCX, X86_RAX);
}

static void shift(struct emit *e, u8 what, const struct x86_dop *d)
{
	if (d->src2 == X86_NONE)
		emit_mov_imm64(e, X86_RCX, (u64)d->imm & 0xff);
	else
		get(e, X86_RCX, d->src2, 1);
	jit_reg(e, d->size == 8, 0xd3, what, X86_RAX);
}

static void lea(struct emit *e, const struct x86_dop *d)
{
	u8 bits = d->scale == 8 ? 3 : d->scale == 4 ? 2 : d->scale == 2;

	get(e, X86_RAX, d->src, 8);
	get(e, X86_RCX, d->src2, 8);
	jit_index(e, 1, 0x8d, X86_RAX, X86_RAX, X86_RCX, bits, (s32)d->imm);
}

void dep_jit_derive(struct emit *e, const struct x86_dop *d)
{
	static const u8 opcodes[] = {
		[X86_D_ADD] = 0x01, [X86_D_SUB] = 0x29, [X86_D_AND] = 0x21, [X86_D_OR] = 0x09,
		[X86_D_XOR] = 0x31,
	};
	static const u8 shifts[] = {
		[X86_D_SHL] = 4, [X86_D_SHR] = 5, [X86_D_SAR] = 7, [X86_D_ROL] = 0, [X86_D_ROR] = 1,
	};
	u8 wide = d->size == 8;

	switch ((enum x86_dop_code)d->code) {
	case X86_D_CONST:
		emit_mov_imm64(e, X86_RAX, (u64)d->imm);
		break;
	case X86_D_LEA:
		lea(e, d);
		break;
	case X86_D_SEXT:
		get_signed(e, X86_RAX, d->src, d->srcsize);
		break;
	case X86_D_SAR:
		get_signed(e, X86_RAX, d->src, d->size);
		shift(e, shifts[d->code], d);
		break;
	default:
		get(e, X86_RAX, d->src, d->srcsize);
		if (d->code == X86_D_IMUL)
			arithmetic(e, 0x0faf, d);
		else if (d->code >= X86_D_ADD && d->code <= X86_D_XOR)
			arithmetic(e, opcodes[d->code], d);
		else if (d->code >= X86_D_SHL && d->code <= X86_D_ROR)
			shift(e, shifts[d->code], d);
		else if (d->code == X86_D_NOT || d->code == X86_D_NEG)
			jit_reg(e, wide, 0xf7, d->code == X86_D_NOT ? 2 : 3, X86_RAX);
		else if (d->code == X86_D_BSWAP)
			jit_opcode(e, wide, 0x0fc8 | X86_RAX, 0, 0, X86_RAX);
		break;
	}
	/* Zero-extend a 32-bit result, as the processor does. */
	if (d->size == 4)
		jit_reg(e, 0, 0x89, X86_RAX, X86_RAX);
	put(e, d->dst, d->size);
}
