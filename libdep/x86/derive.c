// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Derivation: which registers are known after an instruction, and how to compute them.
 *
 * If a register is written in a way that is not recognised here, it becomes unknown.  This is
 * always correct and costs only a stored value.
 */
#include "derive.h"

#define RAX	X86_BIT(X86_RAX)
#define RCX	X86_BIT(X86_RCX)
#define RSP	X86_BIT(X86_RSP)
#define RSI	X86_BIT(X86_RSI)
#define RDI	X86_BIT(X86_RDI)
#define R11	X86_BIT(X86_R11)

struct operand {
	u8 reg;
	u8 high;	/* 1: the operand is bits 8..15 of the register */
};

struct state {
	const struct x86_insn *in;
	u16 before;
	u16 after;
	unsigned int nops;
	struct x86_dop *ops;
};

static const struct operand none = { X86_NONE, 0 };

static inline u16 bit(u8 reg)
{
	return reg < 16 ? X86_BIT(reg) : 0;
}

/* Get the operand that a register field names; @raw: the three bits of the field. */
static inline struct operand named(const struct x86_insn *in, u8 reg, unsigned int raw,
				   unsigned int size)
{
	return (struct operand){ reg, size == 1 && !in->rex && raw >= 4 };
}

static struct operand op_reg(const struct x86_insn *in, unsigned int size)
{
	return named(in, in->f_reg, in->modrm >> 3 & 7, size);
}

static struct operand op_rm(const struct x86_insn *in, unsigned int size)
{
	return named(in, in->f_rm, in->modrm & 7, size);
}

static struct operand op_opc(const struct x86_insn *in, unsigned int size)
{
	return named(in, in->f_opc, in->opcode & 7, size);
}

/* Add an operation if all registers that it reads are known. */
static struct x86_dop *emit(struct state *s, u8 code, u8 size, struct operand dst,
			    struct operand src, struct operand src2, s64 imm)
{
	u16 need = bit(src.reg) | bit(src2.reg) | (size < 4 ? bit(dst.reg) : 0);
	struct x86_dop *op = &s->ops[s->nops];

	*op = (struct x86_dop){
		.code = code, .size = size, .dst = dst.reg, .src = src.reg, .src2 = src2.reg,
		.scale = 1, .srcsize = size, .dst_high = dst.high, .src_high = src.high,
		.src2_high = src2.high, .imm = imm,
	};
	if (dst.reg >= 16 || need & ~s->before)
		return op;
	s->after |= bit(dst.reg);
	s->nops++;
	return op;
}

static void constant(struct state *s, u8 size, struct operand dst, s64 imm)
{
	emit(s, X86_D_CONST, size, dst, none, none, imm);
}

static void extend(struct state *s, u8 code, u8 size, struct operand dst, struct operand src,
		   u8 srcsize)
{
	emit(s, code, size, dst, src, none, 0)->srcsize = srcsize;
}

static void add_rsp(struct state *s, s64 by)
{
	const struct operand rsp = { X86_RSP, 0 };

	emit(s, X86_D_ADD, 8, rsp, rsp, none, by);
}

static void lea(struct state *s, u64 pc)
{
	const struct x86_insn *in = s->in;
	u8 size = in->attr & X86_A_ADDR32 && in->opsize == 8 ? 4 : in->opsize;
	struct operand dst = { in->f_reg, 0 };
	struct operand base = { in->base, 0 }, index = { in->index, 0 };

	if (in->base == X86_RIP)
		constant(s, size, dst, (s64)(pc + in->len + (u64)(s64)in->disp));
	else
		emit(s, X86_D_LEA, size, dst, base, index, in->disp)->scale = 1 << (in->sib >> 6);
}

static void alu(struct state *s, unsigned int op, u8 size, struct operand dst, struct operand src2,
		s64 imm)
{
	static const u8 codes[8] = {
		X86_D_ADD, X86_D_OR, 0, 0, X86_D_AND, X86_D_SUB, X86_D_XOR, 0,
	};

	/* adc and sbb depend on the carry flag; cmp writes no register */
	if (op == 2 || op == 3 || op == 7)
		return;
	if ((op == 5 || op == 6) && dst.reg == src2.reg && dst.high == src2.high)
		constant(s, size, dst, 0);
	else if (op == 1 && src2.reg == X86_NONE && imm == -1)
		constant(s, size, dst, -1);
	else
		emit(s, codes[op], size, dst, dst, src2, imm);
}

static void shift(struct state *s, u8 size, struct operand count, s64 imm)
{
	static const u8 codes[8] = { X86_D_ROL, X86_D_ROR, 0,	      0,
				     X86_D_SHL, X86_D_SHR, X86_D_SHL, X86_D_SAR };
	unsigned int op = s->in->modrm >> 3 & 7;
	struct operand dst = op_rm(s->in, size);

	if (op != 2 && op != 3)
		emit(s, codes[op], size, dst, dst, count, imm);
}

static void xchg(struct state *s, u8 size, struct operand a, struct operand b)
{
	if (a.reg >= 16 || b.reg >= 16)
		return;
	if (size >= 4 && (bit(a.reg) | bit(b.reg)) & ~s->before) {
		/* At most one of the registers is known: its value moves to the other one. */
		emit(s, X86_D_MOV, size, a, b, none, 0);
		emit(s, X86_D_MOV, size, b, a, none, 0);
	} else if (!((bit(a.reg) | bit(b.reg)) & ~s->before)) {
		emit(s, X86_D_XCHG, size, a, b, none, 0);
		s->after |= bit(b.reg);
	}
}

static void map0_high(struct state *s, unsigned int op)
{
	const struct x86_insn *in = s->in;
	const struct operand rax = { X86_RAX, 0 }, rcx = { X86_RCX, 0 }, rdx = { X86_RDX, 0 };
	const struct operand rbp = { X86_RBP, 0 }, rsp = { X86_RSP, 0 };
	unsigned int size = in->opsize, sub = in->modrm >> 3 & 7;

	switch (op) {
	case 0x90 ... 0x97:
		/* F3 41 90: xchg or pause, depending on the processor */
		if (op != 0x90 || in->pp != 2)
			xchg(s, size, rax, op_opc(in, size));
		break;
	case 0x98:
		extend(s, X86_D_SEXT, size, rax, rax, size / 2);
		break;
	case 0x99:
		emit(s, X86_D_SAR, size, rdx, rax, none, size * 8 - 1);
		break;
	case 0x9c:
		add_rsp(s, -(s64)size);
		break;
	case 0x9d:
		add_rsp(s, size);
		break;
	case 0xb0 ... 0xbf:
		constant(s, size, op_opc(in, size), in->imm);
		break;
	case 0xc0:
	case 0xc1:
		shift(s, size, none, in->imm);
		break;
	case 0xc6:
	case 0xc7:
		constant(s, size, op_rm(in, size), in->imm);
		break;
	case 0xc8:
		if (size == 8 && !(in->imm >> 16 & 31)) {
			emit(s, X86_D_SUB, 8, rbp, rsp, none, 8);
			emit(s, X86_D_SUB, 8, rsp, rsp, none, 8 + (in->imm & 0xffff));
		}
		break;
	case 0xc9:
		if (size == 8)
			emit(s, X86_D_ADD, 8, rsp, rbp, none, 8);
		break;
	case 0xd0:
	case 0xd1:
		shift(s, size, none, 1);
		break;
	case 0xd2:
	case 0xd3:
		shift(s, size, rcx, 0);
		break;
	case 0xf6:
	case 0xf7:
		if (sub == 2 || sub == 3)
			emit(s, sub == 2 ? X86_D_NOT : X86_D_NEG, size, op_rm(in, size),
			     op_rm(in, size), none, 0);
		break;
	case 0xfe:
	case 0xff:
		if (sub == 6)
			add_rsp(s, -(s64)size);
		else if (sub < 2)
			emit(s, sub ? X86_D_SUB : X86_D_ADD, size, op_rm(in, size), op_rm(in, size),
			     none, 1);
		break;
	default:
		break;
	}
}

static void map0(struct state *s, u64 pc)
{
	const struct x86_insn *in = s->in;
	unsigned int op = in->opcode, size = in->opsize;

	switch (op) {
	case 0x00 ... 0x3f:
		switch (op & 7) {
		case 0:
		case 1:
			alu(s, op >> 3, size, op_rm(in, size), op_reg(in, size), 0);
			break;
		case 2:
		case 3:
			if (in->f_rm < 16)
				alu(s, op >> 3, size, op_reg(in, size), op_rm(in, size), 0);
			break;
		case 4:
		case 5:
			alu(s, op >> 3, size, (struct operand){ X86_RAX, 0 }, none, in->imm);
			break;
		default:
			break;
		}
		break;
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
		add_rsp(s, -(s64)size);
		break;
	case 0x58 ... 0x5f:
		if (in->f_opc != X86_RSP)
			add_rsp(s, size);
		break;
	case 0x8f:
		if (in->f_rm != X86_RSP)
			add_rsp(s, size);
		break;
	case 0x63:
		if (in->f_rm < 16)
			extend(s, X86_D_SEXT, size, op_reg(in, size), op_rm(in, size),
			       size == 2 ? 2 : 4);
		break;
	case 0x69:
	case 0x6b:
		if (in->f_rm < 16)
			emit(s, X86_D_IMUL, size, op_reg(in, size), op_rm(in, size), none, in->imm);
		break;
	case 0x80 ... 0x83:
		alu(s, in->modrm >> 3 & 7, size, op_rm(in, size), none, in->imm);
		break;
	case 0x86:
	case 0x87:
		xchg(s, size, op_rm(in, size), op_reg(in, size));
		break;
	case 0x88:
	case 0x89:
		emit(s, X86_D_MOV, size, op_rm(in, size), op_reg(in, size), none, 0);
		break;
	case 0x8a:
	case 0x8b:
		if (in->f_rm < 16)
			emit(s, X86_D_MOV, size, op_reg(in, size), op_rm(in, size), none, 0);
		break;
	case 0x8d:
		lea(s, pc);
		break;
	default:
		map0_high(s, op);
		break;
	}
}

static void map1(struct state *s)
{
	const struct x86_insn *in = s->in;
	unsigned int op = in->opcode, size = in->opsize, srcsize = op & 1 ? 2 : 1;

	switch (op) {
	case 0xa0:	/* 0xa0, 0xa1, 0xa8, 0xa9: push and pop of fs and gs */
	case 0xa8:
		add_rsp(s, -(s64)size);
		break;
	case 0xa1:
	case 0xa9:
		add_rsp(s, size);
		break;
	case 0xaf:
		if (in->f_rm < 16)
			emit(s, X86_D_IMUL, size, op_reg(in, size), op_reg(in, size),
			     op_rm(in, size), 0);
		break;
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
		if (in->f_rm < 16)
			extend(s, op < 0xb8 ? X86_D_ZEXT : X86_D_SEXT, size, op_reg(in, size),
			       op_rm(in, srcsize), srcsize);
		break;
	case 0xc8 ... 0xcf:
		if (size >= 4)
			emit(s, X86_D_BSWAP, size, op_opc(in, size), op_opc(in, size), none, 0);
		break;
	default:
		break;
	}
}

static void string(struct state *s)
{
	const struct operand rcx = { X86_RCX, 0 };
	const struct x86_insn *in = s->in;
	unsigned int op = in->opcode & 0xfe;

	s->after |= in->gpr_write & (RSI | RDI);
	/* with a 32-bit count of 0, the upper half of rcx stays as it is */
	if (in->gpr_write & RCX && op != 0xa6 && op != 0xae && !(in->attr & X86_A_ADDR32))
		constant(s, 8, rcx, 0);
}

u16 x86_derive(const struct x86_insn *in, u64 pc, u16 known, struct x86_dop *ops,
	       unsigned int *nops)
{
	const struct operand rcx = { X86_RCX, 0 };
	struct x86_dop scratch[X86_MAX_DOPS];
	struct state s = {
		.in = in, .before = known, .after = known & ~in->gpr_write,
		.ops = ops ? ops : scratch,
	};

	switch (in->kind) {
	case X86_NORMAL:
		if (!in->gpr_write || in->enc != X86_LEGACY)
			break;
		if (in->map == 0)
			map0(&s, pc);
		else if (in->map == 1)
			map1(&s);
		break;
	case X86_STRING:
		string(&s);
		break;
	case X86_LOOP:
		if (in->gpr_write & RCX && !(in->attr & X86_A_ADDR32))
			emit(&s, X86_D_SUB, 8, rcx, rcx, none, 1);
		break;
	case X86_CALL:
	case X86_CALL_IND:
		if (!(in->attr & X86_A_BRANCH16))
			add_rsp(&s, -8);
		break;
	case X86_RET:
		if (!(in->attr & X86_A_BRANCH16))
			add_rsp(&s, 8 + in->imm);
		break;
	case X86_SYSCALL:
		/*
		 * The system call sets rcx to the next pc, unless a signal comes first or it is
		 * sigreturn: rcx is unknown.
		 */
		s.after &= ~(RAX | RCX | R11);
		break;
	case X86_INT:	/* int 0x80 is a system call, so it changes registers */
	case X86_XBEGIN:
		s.after &= ~(RAX | R11 | X86_BIT(X86_R8) | X86_BIT(X86_R9) | X86_BIT(X86_R10));
		break;
	case X86_FAR:
		s.after = 0;
		break;
	default:
		break;
	}
	if (nops)
		*nops = s.nops;
	return s.after;
}
