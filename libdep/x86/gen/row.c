/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Make the table row of one encoding from what Zydis reports.  Where the row deviates from Zydis, a
 * comment gives the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

struct gen_lists gen_lists = { .nmem = 1, .nimpl = 1, .nflags = 1 };

static unsigned int add_to(void *list, unsigned int *n, const void *item, size_t size)
{
	char *p = list;
	unsigned int i;

	for (i = 0; i < *n; i++)
		if (!memcmp(p + i * size, item, size))
			return i;
	if (*n == 256) {
		fprintf(stderr, "gen_tab: a list of struct gen_lists is full\n");
		exit(1);
	}
	memcpy(p + *n * size, item, size);
	return (*n)++;
}

static int is_gpr(const ZydisDecodedOperand *op)
{
	switch (ZydisRegisterGetClass(op->reg.value)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return op->type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return 0;
	}
}

static unsigned int reg_number(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) -
	       ZYDIS_REGISTER_RAX;
}

static int no_reference(const struct insn *in)
{
	switch (in->i.meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_MPX:	/* MPX instructions are nops on all current processors */
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_AMX_TILE:
		return in->i.mnemonic != ZYDIS_MNEMONIC_LDTILECFG &&
		       in->i.mnemonic != ZYDIS_MNEMONIC_STTILECFG;
	default:
		break;
	}
	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_INVLPG:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
		return 1;
	default:
		return !strncmp(ZydisMnemonicGetString(in->i.mnemonic), "vgatherpf", 9) ||
		       !strncmp(ZydisMnemonicGetString(in->i.mnemonic), "vscatterpf", 10);
	}
}

static unsigned int mem_kind(const struct insn *in, const ZydisDecodedOperand *op)
{
	if (op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
		return op->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? X86_MT_VSIB : X86_MT_MODRM;
	if (op->encoding == ZYDIS_OPERAND_ENCODING_DISP16_32_64)
		return X86_MT_MOFFS;
	if (in->i.meta.category == ZYDIS_CATEGORY_MOVDIR)
		return X86_MT_REGADDR;
	switch (op->mem.base) {
	case ZYDIS_REGISTER_RSP:
		return op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? X86_MT_PUSH : X86_MT_POP;
	case ZYDIS_REGISTER_RBP:
		return X86_MT_RBP;
	case ZYDIS_REGISTER_RSI:
		return X86_MT_RSI;
	case ZYDIS_REGISTER_RDI:
		return in->i.meta.category == ZYDIS_CATEGORY_STRINGOP ? X86_MT_RDI :
									X86_MT_MASKMOV;
	case ZYDIS_REGISTER_RBX:
		return X86_MT_XLAT;
	default:
		fprintf(stderr, "gen_tab: memory operand of %s is of no known kind\n",
			ZydisMnemonicGetString(in->i.mnemonic));
		exit(1);
	}
}

static unsigned int memory(const struct insn *in)
{
	static const u8 order[] = { X86_R, X86_M, X86_W };
	struct x86_memlist list;
	unsigned int n = 0, pass, k, rw;

	memset(&list, 0, sizeof(list));
	if (no_reference(in))
		return 0;
	for (pass = 0; pass < 3; pass++) {
		for (k = 0; k < in->i.operand_count; k++) {
			const ZydisDecodedOperand *op = &in->op[k];

			if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
			    op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
			    op->mem.type == ZYDIS_MEMOP_TYPE_MIB)
				continue;
			rw = (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? X86_R : 0) |
			     (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? X86_W : 0);
			if (rw != order[pass])
				continue;
			if (n == 3 || op->size % 8 || !op->size) {
				fprintf(stderr, "gen_tab: %s has more than 3 memory operands "
					"or one without a size\n",
					ZydisMnemonicGetString(in->i.mnemonic));
				exit(1);
			}
			list.t[n].what = mem_kind(in, op);
			list.t[n].rw = rw;
			list.t[n++].size = op->size / 8;
		}
	}
	return add_to(gen_lists.mem, &gen_lists.nmem, &list, sizeof(list));
}

/* Whether the destination keeps its old value under a condition that Zydis does not report. */
static int may_keep(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_BSF:	/* unchanged if the source is 0 */
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_LAR:
	case ZYDIS_MNEMONIC_LSL:
	case ZYDIS_MNEMONIC_RDSSPD:	/* a nop on processors without shadow stacks */
	case ZYDIS_MNEMONIC_RDSSPQ:
		return 1;
	default:
		return 0;
	}
}

/* X86_FB_* flags for the access to an operand's general register. */
static unsigned int access_bits(const struct insn *in, const ZydisDecodedOperand *op)
{
	unsigned int bits = X86_FB_GPR;

	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		bits |= X86_FB_R;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		bits |= X86_FB_W;
	if (op->actions & ZYDIS_OPERAND_ACTION_WRITE && op->size >= 32)
		bits |= X86_FB_FULL;
	if (bits & X86_FB_W && may_keep(in->i.mnemonic))
		bits = (bits | X86_FB_R) & ~X86_FB_FULL;
	if (op->size == 8)
		bits |= X86_FB_8;
	return bits;
}

/* Correct the accesses that Zydis reports for registers that are not operands. */
static void correct_implicit(const struct insn *in, struct x86_implicit *impl)
{
	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_LEAVE:	/* leave overwrites rsp without reading it */
		impl->read = X86_BIT(X86_RBP);
		break;
	case ZYDIS_MNEMONIC_XLAT:
		impl->read |= X86_BIT(X86_RAX);
		break;
	/* system call in Linux: rax is number and result, the others are arguments */
	case ZYDIS_MNEMONIC_SYSCALL:
		impl->write |= X86_BIT(X86_RAX);
		impl->read |= X86_BIT(X86_RAX) | X86_BIT(X86_RDI) | X86_BIT(X86_RSI) |
			      X86_BIT(X86_RDX) | X86_BIT(X86_R10) | X86_BIT(X86_R8) |
			      X86_BIT(X86_R9);
		break;
	default:
		break;
	}
}

/* Set the registers of a string instruction: Zydis omits the pointers of repeated cmps. */
static void string_registers(const struct insn *in, const struct x86_row *row,
			     struct x86_implicit *impl)
{
	unsigned int k;

	for (k = 0; k < 3; k++) {
		if (gen_lists.mem[row->mem].t[k].what == X86_MT_RSI)
			impl->write |= X86_BIT(X86_RSI);
		if (gen_lists.mem[row->mem].t[k].what == X86_MT_RDI)
			impl->write |= X86_BIT(X86_RDI);
	}
	impl->read |= impl->write & (X86_BIT(X86_RSI) | X86_BIT(X86_RDI));
	impl->full = 0;
	if (in->i.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPZ |
				ZYDIS_ATTRIB_HAS_REPNZ)) {
		impl->read |= X86_BIT(X86_RCX);
		impl->write |= X86_BIT(X86_RCX);
	}
}

static void registers(const struct insn *in, struct x86_row *row)
{
	static const u8 fields[] = {
		[ZYDIS_OPERAND_ENCODING_MODRM_REG] = X86_FLD_REG + 1,
		[ZYDIS_OPERAND_ENCODING_MODRM_RM] = X86_FLD_RM + 1,
		[ZYDIS_OPERAND_ENCODING_OPCODE] = X86_FLD_OPC + 1,
		[ZYDIS_OPERAND_ENCODING_NDSNDD] = X86_FLD_VVVV + 1,
	};
	struct x86_implicit impl;
	unsigned int k, bits, opsize = 0, bit;

	memset(&impl, 0, sizeof(impl));
	for (k = 0; k < in->i.operand_count; k++) {
		const ZydisDecodedOperand *op = &in->op[k];
		unsigned int enc = op->encoding;

		if (!is_gpr(op))
			continue;
		bits = access_bits(in, op);
		if (enc < sizeof(fields) && fields[enc]) {
			row->fields |= bits << X86_FB_SHIFT(fields[enc] - 1);
			if (!opsize)
				opsize = op->size / 8;
			continue;
		}
		bit = X86_BIT(reg_number(op->reg.value));
		if (bits & X86_FB_R)
			impl.read |= bit;
		if (bits & X86_FB_W)
			impl.write |= bit;
		if (bits & X86_FB_FULL)
			impl.full |= bit;
	}
	correct_implicit(in, &impl);
	if (row->kind == X86_STRING)
		string_registers(in, row, &impl);
	row->implicit = add_to(gen_lists.impl, &gen_lists.nimpl, &impl, sizeof(impl));
	row->opsize = opsize ? opsize : in->i.operand_width / 8;
}

static void flags(const struct insn *in, struct x86_row *row)
{
	const ZydisAccessedFlags *f = in->i.cpu_flags;
	const unsigned int all = X86_ARITH_FLAGS | X86_DF;
	struct x86_flagset set;
	unsigned int k;

	memset(&set, 0, sizeof(set));
	if (f) {
		set.read = f->tested & all;
		set.kill = (f->modified | f->set_0 | f->set_1) & all;
		set.write = set.kill | (f->undefined & all);
	}
	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_AND:	/* AF is undefined, but does not depend on its old value */
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_TEST:
		set.kill = set.write;
		break;
	default:
		break;
	}
	/* Shifts, rotates and rep string instructions change no flag if the count is 0. */
	if (in->i.meta.category == ZYDIS_CATEGORY_SHIFT ||
	    in->i.meta.category == ZYDIS_CATEGORY_ROTATE) {
		for (k = 0; k < in->i.operand_count; k++)
			if (in->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    in->op[k].reg.value == ZYDIS_REGISTER_CL &&
			    in->op[k].encoding == ZYDIS_OPERAND_ENCODING_NONE)
				set.kill = 0;
	}
	if (row->kind == X86_STRING && gen_lists.impl[row->implicit].write & X86_BIT(X86_RCX))
		set.kill = 0;
	row->flags = add_to(gen_lists.flags, &gen_lists.nflags, &set, sizeof(set));
}

static unsigned int kind(const struct insn *in)
{
	unsigned int far_branch = in->i.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	unsigned int direct = in->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
		return X86_XBEGIN;
	case ZYDIS_MNEMONIC_SYSCALL:
		return X86_SYSCALL;
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return X86_FAR;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
		return X86_INT;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return X86_LOOP;
	case ZYDIS_MNEMONIC_XABORT:	/* xabort is a nop outside of a transaction */
		return X86_NORMAL;
	default:
		break;
	}
	switch (in->i.meta.category) {
	case ZYDIS_CATEGORY_STRINGOP:
		return X86_STRING;
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_IO:
		return X86_INT;
	case ZYDIS_CATEGORY_COND_BR:
		return X86_JCC;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return far_branch ? X86_FAR : direct ? X86_JMP : X86_JMP_IND;
	case ZYDIS_CATEGORY_CALL:
		return far_branch ? X86_FAR : direct ? X86_CALL : X86_CALL_IND;
	case ZYDIS_CATEGORY_RET:
		return far_branch ? X86_FAR : X86_RET;
	default:
		return in->i.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ? X86_INT : X86_NORMAL;
	}
}

static unsigned int attributes(const struct insn *in)
{
	unsigned int k, attr = 0;

	for (k = 0; k < in->i.operand_count; k++) {
		const ZydisDecodedOperand *op = &in->op[k];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_SEGMENT &&
		    op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			attr |= X86_A_MOVSEG;
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && !no_reference(in) &&
		    op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			attr |= op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? X86_A_SCATTER :
										X86_A_GATHER;
	}
	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_WRFSBASE:
		return attr | X86_A_WRFSBASE;
	case ZYDIS_MNEMONIC_WRGSBASE:
		return attr | X86_A_WRGSBASE;
	case ZYDIS_MNEMONIC_RDGSBASE:
		return attr | X86_A_RDGSBASE;
	case ZYDIS_MNEMONIC_TILELOADD:
	case ZYDIS_MNEMONIC_TILELOADDT1:
	case ZYDIS_MNEMONIC_TILESTORED:
	case ZYDIS_MNEMONIC_CLZERO:
		return attr | X86_A_UNTRACED;
	default:
		return in->i.meta.category == ZYDIS_CATEGORY_PADLOCK ? attr | X86_A_UNTRACED : attr;
	}
}

/* Try register numbers until the encoding is valid.  Return: 0 if it is always invalid. */
static int settle(struct probe *p, struct insn *in)
{
	unsigned int k, tries = p->enc == X86_LEGACY ? 1 : 6;

	for (k = 0; k < tries; k++) {
		if (k & 1 && p->enc != X86_EVEX)
			continue;
		p->aaa = k & 1;
		p->vvvv = k > 1 ? (p->reg + k / 2 + 1) & 7 : 0;
		if (gen_decode(p, in))
			return 1;
	}
	return 0;
}

/**
 * gen_row() - make the row of an encoding
 * @p: the encoding; registers that no dimension fixes are chosen here
 * @row: result
 *
 * Return: 0 if the encoding is invalid.
 */
int gen_row(struct probe *p, struct x86_row *row)
{
	struct insn in;
	unsigned int end, k;

	memset(row, 0, sizeof(*row));
	p->index = (p->reg + 3) & 7;
	if (p->index == 4)
		p->index = 5;
	if (p->enc == X86_EVEX)
		p->rm = (p->reg + 1) & 7;
	if (!settle(p, &in))
		return 0;
	row->kind = kind(&in);
	row->attr = attributes(&in);
	row->mem = memory(&in);
	registers(&in, row);
	flags(&in, row);

	end = 0;
	if (in.i.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		row->fields |= X86_RF_MODRM;
		end = in.i.raw.modrm.offset + 1;
		if (!p->mod) {
			if (in.i.raw.disp.size == 0)
				row->fields |= X86_RF_FORCEREG;
			else
				end += 2;
		}
	}
	if (in.i.raw.disp.size == 64) {
		row->fields |= X86_RF_MOFFS;
	} else {
		if (!end)	/* without ModRM byte, the immediate follows the opcode */
			end = in.i.length - (in.i.raw.imm[0].size + in.i.raw.imm[1].size) / 8;
		row->imm_len = in.i.length - end;
	}
	for (k = 0; !p->mod && k < in.i.operand_count; k++) {
		if (in.op[k].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    in.op[k].encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
			continue;
		if (in.op[k].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			row->fields |= X86_RF_VSIB;
		/* the encoded disp8 is 1, so Zydis's displacement is the factor of disp8 */
		while (in.op[k].mem.disp.value >> row->cd8 > 1)
			row->cd8++;
	}
	if (!p->mod && in.i.attributes & ZYDIS_ATTRIB_ACCEPTS_LOCK)
		row->fields |= X86_RF_LOCK;
	if (p->enc == X86_LEGACY && !p->mod) {
		if (!p->map && p->opcode == 0x8f)
			row->fields |= X86_RF_POPMEM;
		if (p->map == 1 && (p->opcode & 0xe7) == 0xa3 && row->mem)
			row->fields |= X86_RF_BITOFF;
	}
	row->cons = gen_constraints(p, row);
	return 1;
}
