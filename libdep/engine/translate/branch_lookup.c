// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Emits lookups in the branch tables.  The emitted code changes no flag.
 */
#include "branch_table.h"

static u8 plain;

void lookup_init(int with_bmi2)
{
	plain = !with_bmi2;
	table_init(plain);
}

/* Emit code that computes the table index of the address in rcx, to rdx. */
static void emit_index(struct emit *e, enum table t)
{
	/* lea rdx, [rcx + rcx * 8] */
	static const u8 nine_times[] = { 0x48, 0x8d, 0x14, 0xc9 };
	/* movzx edx, dx */
	static const u8 low16[] = { 0x0f, 0xb7, 0xd2 };
	/* rorx rdx, rdx, bits: moves the low bits to the top */
	const u8 rorx[] = { 0xc4, 0xe3, 0xfb, 0xf0, 0xd2, (u8)table_bits(t) };
	/* mulx rdx, rdx, [scale]: the upper half of the product is the index */
	static const u8 mulx[] = { 0xc4, 0xe2, 0xeb, 0xf6, 0x14, 0x25 };

	emit_bytes(e, nine_times, sizeof(nine_times));
	if (plain) {
		emit_bytes(e, low16, sizeof(low16));
		return;
	}
	emit_bytes(e, rorx, sizeof(rorx));
	emit_bytes(e, mulx, sizeof(mulx));
	emit32(e, (u32)(u64)table_scale(t));
}

/* Emit ModRM, SIB and disp32 for the operand [rdx * 8 + @table]. */
static void emit_entry(struct emit *e, u8 reg, const u64 *table)
{
	emit8(e, (u8)(0x04 | reg << 3));
	emit8(e, 0xd5);
	emit32(e, (u32)(u64)table);
}

void lookup_jump(struct emit *e)
{
	emit_index(e, T_JUMP);
	emit8(e, 0xff);
	emit_entry(e, 4, table_jump());
}

void lookup_call(struct emit *e)
{
	emit_index(e, T_JUMP);
	emit8(e, 0xff);
	emit_entry(e, 2, table_call());
}

void lookup_return(struct emit *e)
{
	emit_index(e, T_RETURN);
	emit8(e, 0x48);
	emit8(e, 0x8b);
	emit_entry(e, X86_RDX, table_return());
}
