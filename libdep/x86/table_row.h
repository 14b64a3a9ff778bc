/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Format of the tables that gen/main.c writes and decode.c reads.
 *
 * An opcode selects an entry of a top table.  An entry below X86_T_NODE is the number of a row.
 * Any other entry is the position of a node in x86_nodes[]: the number of a dimension (a field of
 * the instruction on which the choice depends), followed by one entry for each value of the
 * dimension.  So only dimensions that make a difference cost space and time.
 */
#ifndef ADEPT_X86_TABLE_ROW_H
#define ADEPT_X86_TABLE_ROW_H

#include "decode.h"

#define X86_T_NODE	0x8000u

/*
 * Dimensions: fields of an instruction that can select a row.  OSZ is REX.W * 2 + 66 prefix (VEX,
 * EVEX, XOP: W only).  PP is 0, 1 = F3, 2 = F2 (VEX, EVEX, XOP: pp).
 */
enum x86_dim {
	X86_DIM_PP, X86_DIM_MOD, X86_DIM_OSZ, X86_DIM_L, X86_DIM_BC, X86_DIM_REG, X86_DIM_RM,
	X86_DIM_R, X86_DIM_B, X86_NDIM
};

/*
 * Numbers of the first top table of each encoding; each opcode map has a top table of 256 entries.
 */
enum x86_top {
	X86_TOP_LEGACY = 0,	/* top tables of the 4 legacy maps */
	X86_TOP_VEX = 4,	/* top tables of VEX maps 1..3 */
	X86_TOP_EVEX = 7,	/* top tables of EVEX maps 1..6 */
	X86_TOP_XOP = 13,	/* top tables of XOP maps 8..10 */
	X86_NTOP = 16
};

/* Fields that name registers: five bits each in struct x86_row.fields. */
enum x86_field { X86_FLD_REG, X86_FLD_RM, X86_FLD_OPC, X86_FLD_VVVV, X86_NFLD };

#define X86_FB_GPR	1u	/* the field names a general register */
#define X86_FB_R	2u
#define X86_FB_W	4u
#define X86_FB_FULL	8u	/* the register is always written, with at least 32 bits */
/* accessed as a byte; without REX, numbers 4..7 are ah, ch, dh, bh */
#define X86_FB_8	16u
#define X86_FB_SHIFT(f)	((f) * 5)

#define X86_RF_FORCEREG	(1u << 20)	/* ModRM.mod is ignored: the operand is a register */
#define X86_RF_MOFFS	(1u << 21)
#define X86_RF_LOCK	(1u << 22)	/* the instruction may have a LOCK prefix */
/* the ModRM address is computed after rsp was increased by the pop */
#define X86_RF_POPMEM	(1u << 23)
#define X86_RF_BITOFF	(1u << 24)
#define X86_RF_MODRM	(1u << 25)
#define X86_RF_VSIB	(1u << 26)	/* the index is a vector register, also in prefetches */

/* Constraints whose violation makes the encoding invalid. */
#define X86_C_VV0	0x0001	/* vvvv must be 0 (1111 as encoded) */
#define X86_C_VV8	0x0002	/* vvvv must be below 8 */
#define X86_C_V2	0x0004	/* V' must be 0 */
#define X86_C_R		0x0008	/* prefix bit R must be 0; the next three: R', X, B */
#define X86_C_R2	0x0010
#define X86_C_X		0x0020
#define X86_C_B		0x0040
#define X86_C_Z		0x0080	/* zeroing-masking (z bit) is not allowed */
#define X86_C_K0	0x0100	/* an opmask register is not allowed */
#define X86_C_KN	0x0200	/* an opmask register is required */
#define X86_C_ZK	0x0400	/* zeroing-masking requires an opmask register */
#define X86_C_NRV	0x0800	/* reg and vvvv must differ (AMX: rm and vvvv, too) */
#define X86_C_NRM	0x1000	/* reg and rm must differ */
#define X86_C_NIX	0x2000	/* reg, vector index and, with VEX, vvvv must differ */
#define X86_C_SIB	0x4000	/* a SIB byte is required */
#define X86_C_NORIP	0x8000	/* a rip-relative address is not allowed */

/* Kinds of memory operands. */
enum x86_mt {
	X86_MT_END, X86_MT_MODRM, X86_MT_VSIB, X86_MT_PUSH, X86_MT_POP, X86_MT_RSI, X86_MT_RDI,
	X86_MT_XLAT, X86_MT_MOFFS, X86_MT_RBP, X86_MT_MASKMOV, X86_MT_REGADDR
};

struct x86_mt_entry {
	u8 what;	/* enum x86_mt */
	u8 rw;
	u16 size;
};

struct x86_memlist {
	struct x86_mt_entry t[3];
};

/* Masks of general registers that are accessed though no field of the instruction names them. */
struct x86_implicit {
	u16 read, write, full;
};

struct x86_flagset {
	u16 read, write, kill;
};

struct x86_row {
	u32 fields;
	u16 cons;
	u16 attr;
	u8 kind;
	u8 opsize;
	u8 imm_len;
	u8 cd8;		/* log2 of the factor by which EVEX scales an 8-bit displacement */
	/* indices in the tables of x86_memlist, x86_implicit and x86_flagset */
	u8 mem;
	u8 implicit;
	u8 flags;
	u8 pad;
};

#endif
