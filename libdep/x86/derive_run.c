// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Run the operations of derive.c on register values, with the processor's semantics.
 */
#include "derive.h"

static inline u64 low(u64 v, unsigned int size)
{
	return size == 8 ? v : v & ((1ull << size * 8) - 1);
}

static inline s64 sign(u64 v, unsigned int size)
{
	unsigned int up = 64 - size * 8;

	return (s64)(v << up) >> up;
}

static inline u64 get(const u64 *regs, u8 reg, u8 high, unsigned int size)
{
	return low(reg < 16 ? regs[reg] >> (high ? 8 : 0) : 0, size);
}

static void put(u64 *regs, u8 reg, u8 high, unsigned int size, u64 v)
{
	unsigned int up = high ? 8 : 0;
	u64 mask;

	if (size >= 4) {
		regs[reg] = low(v, size);
		return;
	}
	mask = ((1ull << size * 8) - 1) << up;
	regs[reg] = (regs[reg] & ~mask) | (v << up & mask);
}

static u64 rotate_left(u64 v, unsigned int size, unsigned int by)
{
	unsigned int bits = size * 8;

	by %= bits;
	return by ? v << by | v >> (bits - by) : v;
}

static u64 bswap(u64 v, unsigned int size)
{
	return size == 8 ? __builtin_bswap64(v) : __builtin_bswap32((u32)v);
}

static u64 compute(const struct x86_dop *op, u64 a, u64 b)
{
	unsigned int size = op->size, count = b & (size == 8 ? 63 : 31);

	switch (op->code) {
	case X86_D_MOV:
		return a;
	case X86_D_ADD:
		return a + b;
	case X86_D_SUB:
		return a - b;
	case X86_D_AND:
		return a & b;
	case X86_D_OR:
		return a | b;
	case X86_D_XOR:
		return a ^ b;
	case X86_D_SHL:
		return a << count;
	case X86_D_SHR:
		return a >> count;
	case X86_D_SAR:
		return (u64)(sign(a, size) >> count);
	case X86_D_ROL:
		return rotate_left(a, size, count);
	case X86_D_ROR:
		return rotate_left(a, size, size * 8 - count % (size * 8));
	case X86_D_IMUL:
		return a * b;
	case X86_D_NOT:
		return ~a;
	case X86_D_NEG:
		return -a;
	case X86_D_BSWAP:
		return bswap(a, size);
	case X86_D_SEXT:
		return (u64)sign(a, op->srcsize);
	case X86_D_ZEXT:
		return a;
	default:
		return b;	/* X86_D_CONST */
	}
}

void x86_derive_run(const struct x86_dop *ops, unsigned int nops, u64 *regs)
{
	u64 old[16];
	unsigned int i;

	for (i = 0; i < 16; i++)
		old[i] = regs[i];
	for (i = 0; i < nops; i++) {
		const struct x86_dop *op = &ops[i];
		u64 a, b;

		if (op->code == X86_D_LEA) {
			a = get(old, op->src, 0, 8) + get(old, op->src2, 0, 8) * op->scale;
			put(regs, op->dst, 0, op->size, a + (u64)op->imm);
			continue;
		}
		a = get(old, op->src, op->src_high, op->srcsize);
		b = (u64)op->imm;
		if (op->code == X86_D_XCHG) {
			b = get(old, op->dst, op->dst_high, op->size);
			put(regs, op->dst, op->dst_high, op->size, a);
			put(regs, op->src, op->src_high, op->size, b);
			continue;
		}
		if (op->src2 != X86_NONE)
			b = get(old, op->src2, op->src2_high, op->size);
		put(regs, op->dst, op->dst_high, op->size, compute(op, a, b));
	}
}
