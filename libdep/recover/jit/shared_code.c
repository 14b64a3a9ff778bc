// SPDX-License-Identifier: LGPL-2.1-or-later
/* Code that all records share: entry, exits, and calls to the interpreter. */
#include "internal.h"
#include "regs.h"

_Static_assert(DEP_SLOTS * 8 <= 2 * JIT_SLOT_BIAS, "displacements of slots must fit one byte");
_Static_assert(DEP_JIT_RECORDS == 6 && DEP_JIT_COUNTS == 8, "counts must fill two xmm registers");

static const u8 kept[] = { X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15 };

static void push_kept(struct emit *e)
{
	u32 i;

	for (i = 0; i < sizeof(kept); i++)
		jit_opcode(e, 0, 0x50 | (kept[i] & 7), 0, 0, kept[i]);
}

static void pop_kept(struct emit *e)
{
	u32 i;

	for (i = sizeof(kept); i--;)
		jit_opcode(e, 0, 0x58 | (kept[i] & 7), 0, 0, kept[i]);
}

/* movdqu [rbx + disp], xmm (opcode 7f), or movdqu xmm, [rbx + disp] (opcode 6f) */
static void move_counts(struct emit *e, u8 opcode, u8 xmm, s32 disp)
{
	emit8(e, 0xf3);
	jit_mem(e, 0, 0x0f00 | opcode, xmm, X86_RBX, disp);
}

/* pxor xmm, xmm */
static void clear_counts(struct emit *e, u8 xmm)
{
	emit8(e, 0x66);
	jit_reg(e, 0, 0x0fef, xmm, xmm);
}

static void constants(struct emit *e)
{
	emit_mov_imm64(e, X86_R9, NUMBER_SHIFT);
	emit_mov_imm64(e, X86_R10, WAY);
	emit_mov_imm64(e, X86_R11, WORD);
}

/* Emit a call of @function, with the dep_interp as first argument, and ret.  Preserves counts. */
static void emit_call(struct emit *e, u64 function)
{
	/* The stack is aligned here: six pushes, and two return addresses. */
	move_counts(e, 0x7f, 0, IN_RUN(state.count[0]));
	move_counts(e, 0x7f, 1, IN_RUN(state.count[4]));
	jit_mem(e, 1, 0x8d, X86_RDI, X86_RBX,
		-(s32)offsetof(struct dep_interp, slot) - JIT_SLOT_BIAS);
	emit_mov_imm64(e, X86_RAX, function);
	jit_reg(e, 0, 0xff, 2, X86_RAX);	/* call rax */
	move_counts(e, 0x6f, 0, IN_RUN(state.count[0]));
	move_counts(e, 0x6f, 1, IN_RUN(state.count[4]));
	constants(e);
	emit8(e, 0xc3);
}

const u8 *dep_jit_emit_shared(struct emit *e, struct dep_jit_exits *x)
{
	const u8 *leave, *enter;

	/* This is offset 0, which means "no code": a jump to a record without code arrives here. */
	x->record = e->p;
	jit_imm(e, 1, OP_SUB, X86_R13, 4);
	x->end = e->p;
	jit_reg(e, 0, 0x31, X86_RAX, X86_RAX);
	leave = e->p;
	jit_mem(e, 1, 0x89, X86_R12, X86_RBX, IN_RUN(value));
	jit_mem(e, 1, 0x89, X86_R13, X86_RBX, IN_RUN(state.control));
	move_counts(e, 0x7f, 0, IN_RUN(state.count[0]));
	move_counts(e, 0x7f, 1, IN_RUN(state.count[4]));
	pop_kept(e);
	emit8(e, 0xc3);

	x->middle = leave;
	x->quiet = e->p;
	jit_mem(e, 0, 0xff, 1, X86_R14, IN_FILTER(quiet));	/* dec dword [quiet] */
	jit_branch(e, x->record);

	x->slow = e->p;
	jit_reg(e, 1, 0x89, X86_RAX, X86_RDX);
	emit_call(e, (u64)dep_jit_call_interp);
	x->one = e->p;
	emit_call(e, (u64)dep_jit_one);

	enter = e->p;
	push_kept(e);
	/* lea rbx, [rdi + ..]; rdi is the dep_interp */
	jit_mem(e, 1, 0x8d, X86_RBX, X86_RDI,
		(s32)offsetof(struct dep_interp, slot) + JIT_SLOT_BIAS);
	jit_mem(e, 1, 0x8b, X86_R12, X86_RBX, IN_RUN(value));
	jit_mem(e, 1, 0x8b, X86_R13, X86_RBX, IN_RUN(state.control));
	jit_mem(e, 1, 0x8b, X86_R14, X86_RBX, IN_RUN(state.filter));
	jit_mem(e, 1, 0x8b, X86_RBP, X86_RBX, IN_RUN(state.table));
	jit_mem(e, 1, 0x8b, X86_R15, X86_RBX, IN_RUN(state.code));
	clear_counts(e, 0);
	clear_counts(e, 1);
	constants(e);
	jit_reg(e, 0, 0xff, 4, X86_RSI);	/* jmp rsi: to the code of the record */
	return enter;
}
