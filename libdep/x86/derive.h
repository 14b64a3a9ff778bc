/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Derivation: which register values follow from known ones, and how to compute them.
 *
 * The recorder (in the engine) uses only the mask of known registers, to decide which registers it
 * must store.  Recovery (in libdep) runs the operations.  Both call the same function, so recovery
 * can compute every register that the recorder counts as known.
 */
#ifndef ADEPT_X86_DERIVE_H
#define ADEPT_X86_DERIVE_H

#include "decode.h"

enum x86_dop_code {
	X86_D_CONST,	/* dst = imm */
	X86_D_MOV,	/* dst = src */
	X86_D_ADD,	/* dst = src + src2, or src + imm; the same operands up to X86_D_IMUL */
	X86_D_SUB,
	X86_D_AND,
	X86_D_OR,
	X86_D_XOR,
	X86_D_SHL,
	X86_D_SHR,
	X86_D_SAR,
	X86_D_ROL,
	X86_D_ROR,
	X86_D_IMUL,
	X86_D_NOT,
	X86_D_NEG,
	X86_D_BSWAP,
	X86_D_SEXT,	/* dst = sign extension of srcsize bytes of src */
	X86_D_ZEXT,
	X86_D_LEA,	/* dst = src + src2 * scale + imm; src and src2 may be X86_NONE */
	X86_D_XCHG,
};

/**
 * struct x86_dop - operation that writes @size bytes of its result to register @dst
 *
 * As in the processor, size 4 zero-extends; sizes 1 and 2 merge into the old value of @dst, which
 * must be known.  The fields *_high select bits 8..15 of an operand of size 1.
 */
struct x86_dop {
	u8 code;	/* enum x86_dop_code */
	u8 size;
	u8 dst, src, src2;	/* enum x86_reg; if src2 is X86_NONE, use imm */
	u8 scale;	/* factor of src2 in X86_D_LEA */
	u8 srcsize;	/* bytes of src to extend in X86_D_SEXT, X86_D_ZEXT */
	u8 dst_high, src_high, src2_high;
	s64 imm;
};

#define X86_MAX_DOPS	4

/**
 * x86_derive() - effect of one instruction on the set of known registers
 * @in: the instruction
 * @pc: address of the instruction
 * @known: mask of registers (X86_BIT) whose values are known before the instruction
 * @ops: receives up to X86_MAX_DOPS operations that compute the changed known registers.  Run them
 *	in order.  May be NULL
 * @nops: receives the number of operations; may be NULL with @ops
 *
 * After a string instruction rsi and rdi are known, without operations, because the recorder stores
 * one of them after the instruction and recovery derives the other.  rcx is 0 after rep movs, stos
 * and lods, and unknown after repe and repne.
 *
 * Return: the mask of registers known after the instruction.
 */
u16 x86_derive(const struct x86_insn *in, u64 pc, u16 known, struct x86_dop *ops,
	       unsigned int *nops);

/** x86_derive_run() - run @nops operations on @regs (16 values, hardware order) */
void x86_derive_run(const struct x86_dop *ops, unsigned int nops, u64 *regs);

#endif
