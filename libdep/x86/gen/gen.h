/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parts of the table generator: main.c enumerates encodings and writes the tables, row.c makes the
 * row of one encoding, constraints.c finds its constraints.  Host program.
 */
#ifndef ADEPT_X86_GEN_GEN_H
#define ADEPT_X86_GEN_GEN_H

#include <Zydis/Zydis.h>

#include "libdep/x86/table_row.h"

/* Fields of an instruction encoding that the generator tries. */
struct probe {
	u8 enc, map, opcode;
	u8 pp;			/* prefix; legacy: 0, 1 = F3, 2 = F2; otherwise the pp field */
	u8 w, p66;
	u8 l, bc;		/* l: vector length; bc: EVEX.b */
	u8 mod, reg, rm;	/* ModRM; mod is 0 for a memory operand, 1 for a register */
	u8 r, x, b, r2, z, aaa;
	u8 vvvv;		/* VEX.vvvv, not inverted, with V' as bit 4 */
	u8 index;		/* index register in the SIB byte */
	/* form of a memory operand: 0: SIB + disp8, 1: rip-relative, 2: base only */
	u8 norm;
};

struct insn {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/* Lists to which rows refer by index; entry 0 of each list is all zero. */
struct gen_lists {
	struct x86_memlist mem[256];
	struct x86_implicit impl[256];
	struct x86_flagset flags[256];
	unsigned int nmem, nimpl, nflags;
};

extern struct gen_lists gen_lists;

int gen_decode(const struct probe *p, struct insn *in);
int gen_row(struct probe *p, struct x86_row *row);
unsigned int gen_constraints(const struct probe *p, const struct x86_row *row);

#endif
