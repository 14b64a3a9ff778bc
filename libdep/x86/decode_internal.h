/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internals of the decoder: interface between decode.c and operands.c. */
#ifndef ADEPT_X86_DECODE_INTERNAL_H
#define ADEPT_X86_DECODE_INTERNAL_H

#include "decode.h"
#include "table_row.h"

/* Position in the instruction, and the prefixes read so far. */
struct x86_cursor {
	const u8 *code;
	unsigned int pos, limit;
	u8 rep;		/* last of the F3 (1) and F2 (2) prefixes; 0: none */
	u8 p66;
	u8 r, x, b, w;	/* extension bits of REX, VEX or EVEX, not inverted */
	u8 r2, vvvv, z, bc;
	u8 top;		/* number of the top table: enum x86_top + map */
	u8 seg;		/* enum x86_seg */
};

/* Fill in registers, flags and mem[] after all bytes of the instruction have been read. */
void x86_operands(struct x86_insn *in, const struct x86_cursor *c, const struct x86_row *row);

#endif
