/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * x86-64 instruction decoder, driven by tables that gen/main.c generates from Zydis when Adept is
 * built.  Freestanding: no libc, no allocation, no global state.  Any thread may call any function.
 * Linked into the engine image and into libdep.
 */
#ifndef ADEPT_X86_DECODE_H
#define ADEPT_X86_DECODE_H

#include "libdep/abi/types.h"

/* General registers by their hardware number. */
enum x86_reg {
	X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
	X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	X86_RIP = 16,
	X86_NONE = 0xff,
};

#define X86_BIT(reg)	((u16)(1u << (reg)))

enum x86_kind {
	X86_INVALID,	/* raises #UD natively; length unknown */
	X86_NORMAL,
	X86_STRING,	/* movs, cmps, stos, lods, scas; with or without rep */
	X86_JCC,	/* conditional jump, rel8 or rel32; condition in opcode & 15 */
	X86_LOOP,	/* loop, loope, loopne, jrcxz, jecxz */
	X86_JMP,	/* direct jump */
	X86_JMP_IND,
	X86_CALL,	/* direct call */
	X86_CALL_IND,
	X86_RET,	/* near return; imm: bytes popped in addition to the return address */
	X86_SYSCALL,
	/* int n, int3, int1, hlt, in, out, and all that always faults in user mode */
	X86_INT,
	X86_FAR,	/* far call, jmp, ret, iret, sysenter, sysexit, sysret */
	X86_XBEGIN,
};

enum x86_enc { X86_LEGACY, X86_VEX, X86_EVEX, X86_XOP };

/* Flags in struct x86_insn.attr. */
#define X86_A_RIPREL	0x0001	/* the ModRM operand is rip-relative (memory or lea) */
#define X86_A_LOCK	0x0002
#define X86_A_REP	0x0004	/* F3 (rep or repe) prefix on a string instruction */
#define X86_A_REPNE	0x0008	/* F2 (repne) prefix on a string instruction */
#define X86_A_ADDR32	0x0010	/* 67 prefix: 32-bit addresses */
#define X86_A_HIGH8	0x0020	/* an operand is ah, ch, dh or bh */
#define X86_A_GATHER	0x0040	/* reads memory through a vector of indices (VSIB) */
#define X86_A_SCATTER	0x0080	/* writes memory through a vector of indices (VSIB) */
#define X86_A_WRFSBASE	0x0100	/* is a wrfsbase instruction */
#define X86_A_WRGSBASE	0x0200
#define X86_A_RDGSBASE	0x0400
#define X86_A_MOVSEG	0x0800	/* writes a segment register (mov/pop/lfs/lgs) */
/* Accesses memory that this decoder cannot describe (AMX tiles, clzero). */
#define X86_A_UNTRACED	0x1000
/*
 * Near branch with a 66 prefix and no REX.W.  AMD truncates the target to 16 bits (even the
 * displacement).  Intel ignores the prefix, and so does this decoder.
 */
#define X86_A_BRANCH16	0x2000

/* Arithmetic flags, as in rflags. */
#define X86_CF	0x001
#define X86_PF	0x004
#define X86_AF	0x010
#define X86_ZF	0x040
#define X86_SF	0x080
#define X86_OF	0x800
#define X86_DF	0x400
#define X86_ARITH_FLAGS	(X86_CF | X86_PF | X86_AF | X86_ZF | X86_SF | X86_OF)

enum x86_seg { X86_SEG_NONE, X86_SEG_FS, X86_SEG_GS };
enum x86_rw { X86_R = 1, X86_W = 2, X86_M = 3 };

/* Flags in struct x86_mem.flags. */
/* The offset is truncated to 32 bits before the segment base is added. */
#define X86_M_ADDR32	0x01
/* bt, bts, btr, btc with register offset: add (bitreg >> log2(8 * size)) * size to the address */
#define X86_M_BITOFF	0x02
#define X86_M_XLAT	0x04	/* add al to the address */
#define X86_M_STRING	0x08	/* the address advances by the size in each iteration */
#define X86_M_VSIB	0x10	/* index is a vector register */

/**
 * struct x86_mem - one memory reference of an instruction
 *
 * The address is a function of the register values before the instruction: segment base + base +
 * index * scale + disp (rip is the address of the next instruction).  This also holds for stack
 * operands: push has base rsp and disp -8, "pop [rsp+8]" has base rsp and disp 16.
 */
struct x86_mem {
	u8 base;	/* base register: enum x86_reg, X86_RIP or X86_NONE */
	u8 index;	/* index register or X86_NONE; with X86_M_VSIB, a vector register number */
	u8 scale;	/* factor of the index: 1, 2, 4, 8 */
	u8 seg;		/* enum x86_seg */
	u8 rw;		/* enum x86_rw */
	u8 flags;
	u16 size;	/* size in bytes; for strings, gathers and scatters, of one element */
	s64 disp;
};

#define X86_MAX_MEM	4

/**
 * struct x86_insn - one decoded instruction
 *
 * mem[] is in the order in which Adept reports references: reads, then read-modify-writes, then
 * writes; within each group, explicit operands first.  Entries from @nmem on are not initialised.
 * "enter" with a nesting level above 0 makes more references than mem[] has room for: mem[0] is its
 * push of rbp, and x86_enter_refs() generates the others from @imm.  A gather or scatter accesses
 * up to (16 << vl) / max(mem[0].size, vsib_elem) elements.
 */
struct x86_insn {
	u8 len;
	u8 kind;	/* enum x86_kind */
	u8 enc;		/* enum x86_enc */
	/* opcode map; legacy: 0, 1 = 0F, 2 = 0F38, 3 = 0F3A; otherwise as encoded */
	u8 map;
	u8 opcode;
	u8 pp;		/* mandatory prefix class: 0, 1 = 66, 2 = F3, 3 = F2 */
	u8 rex;		/* REX byte, 0 if none */
	u8 vl;		/* VEX/EVEX vector length: 0 = 128, 1 = 256, 2 = 512 */
	u16 attr;	/* X86_A_* */
	u8 opsize;	/* operand size in bytes of general register operands: 1, 2, 4, 8 */
	u8 nmem;
	/* byte offsets inside the instruction; 0: absent (except for the opcode) */
	u8 off_opcode, off_modrm, off_sib, off_disp, off_imm;
	u8 off_seg;	/* 1 + offset of the fs or gs prefix byte; 0: none */
	u8 off_vex;	/* 1 + offset of the VEX, EVEX or XOP prefix; 0: none */
	u8 disp_len, imm_len;
	u8 modrm, sib;
	/*
	 * general registers that the fields name, or X86_NONE.  For ah, ch, dh, bh: the register
	 * that contains the byte.
	 */
	u8 f_reg, f_rm, f_opc, f_vvvv;
	/* base and index of the ModRM memory (or lea) operand as in x86_mem; X86_NONE: none */
	u8 base, index;
	u8 evex_k;	/* EVEX opmask register, 0 = none */
	u8 vreg;	/* ModRM.reg as a vector register number (with EVEX bits), for gathers */
	u8 vvvv;	/* vvvv with EVEX V' (not inverted), as a vector register number */
	u8 w;		/* W bit of a VEX, EVEX or XOP prefix */
	u8 vsib_elem;	/* size in bytes of an index of a gather or scatter, 4 or 8 */
	/* immediate, sign-extended; branches: the displacement; enter: size | level << 16 */
	s64 imm;
	s32 disp;
	u16 gpr_read;	/* mask of general registers read, including address registers */
	u16 gpr_write;	/* mask of general registers changed wholly, partly or under a condition */
	/* mask of registers from which mem[] addresses are computed (strings: without rcx) */
	u16 gpr_addr;
	u16 gpr_full;	/* the registers of gpr_write that always get a new 64-bit value */
	/* masks of X86_CF .. X86_DF; flags_write includes undefined flags */
	u16 flags_read, flags_write;
	u16 flags_kill;	/* the flags of flags_write that never keep their old value */
	struct x86_mem mem[X86_MAX_MEM];
};

/**
 * x86_decode() - decode one instruction
 * @in: result; all of it is overwritten; in->kind is X86_INVALID if the result is not a length
 * @code: instruction bytes
 * @avail: number of bytes that can be read at @code
 *
 * Return: the length (1..15), 0 for an invalid encoding, -1 if the instruction is longer than
 * @avail bytes.
 */
int x86_decode(struct x86_insn *in, const u8 *code, unsigned int avail);

/** x86_branch_target() - get the target of a direct branch at @pc (JCC, LOOP, JMP, CALL, XBEGIN) */
static inline u64 x86_branch_target(const struct x86_insn *in, u64 pc)
{
	return pc + in->len + (u64)in->imm;
}

/**
 * x86_mask_elem() - get the element size in bytes of a masked memory operand
 *
 * The mask is opmask register evex_k, or the highest bits of the elements of vector register vvvv.
 * Only moves between memory and a vector register and comparisons of bytes and words are treated as
 * masked.  Other instructions with a mask (arithmetic, compression..) are assumed to access the
 * whole operand.
 *
 * Return: 1, 2, 4, 8; 0: the operand is not treated as masked.
 */
unsigned int x86_mask_elem(const struct x86_insn *in);

/**
 * x86_enter_refs() - generate the memory references of "enter" after mem[0], in order of execution
 * @in: the decoded enter
 * @rsp: rsp before the instruction
 * @rbp: rbp before the instruction
 * @emit: called with each address, its size (8, or 2 with a 66 prefix) and enum x86_rw
 *
 * Return: the number of references.
 */
unsigned int x86_enter_refs(const struct x86_insn *in, u64 rsp, u64 rbp,
			    void (*emit)(void *arg, u64 addr, unsigned int size, int rw),
			    void *arg);

#endif
