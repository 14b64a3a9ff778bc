// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "zydis_expect.h"

static ZydisDecoder decoder;
static ZydisDecodedInstruction zi;
static ZydisDecodedOperand zo[ZYDIS_MAX_OPERAND_COUNT];

static int is(const char *name)
{
	return !strcmp(ZydisMnemonicGetString(zi.mnemonic), name);
}

static int starts(const char *prefix)
{
	return !strncmp(ZydisMnemonicGetString(zi.mnemonic), prefix, strlen(prefix));
}

static int is_any(const char *const *names)
{
	for (; *names; names++)
		if (is(*names))
			return 1;
	return 0;
}

static unsigned int gpr(ZydisRegister reg)
{
	ZydisRegister big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return X86_RIP;
	if (big < ZYDIS_REGISTER_RAX || big > ZYDIS_REGISTER_R15)
		return X86_NONE;
	return big - ZYDIS_REGISTER_RAX;
}

static u16 gpr_bit(ZydisRegister reg)
{
	unsigned int number = gpr(reg);

	return number < 16 ? X86_BIT(number) : 0;
}

static int silent(void)
{
	static const char *const names[] = {
		"clflush", "clflushopt", "clwb", "cldemote", "invlpg", "nop", "ud0", "ud1",
		"insb", "insw", "insd", "outsb", "outsw", "outsd", "tileloadd", "tileloaddt1",
		"tilestored", NULL,
	};

	return is_any(names) || starts("prefetch") || starts("vgatherpf") ||
	       starts("vscatterpf") || zi.meta.category == ZYDIS_CATEGORY_MPX ||
	       zi.meta.category == ZYDIS_CATEGORY_PADLOCK;
}

static unsigned int kind(void)
{
	static const char *const faults[] = {
		"int", "int1", "int3", "ud0", "ud1", "ud2", "cli", "sti", "in", "out",
		"insb", "insw", "insd", "outsb", "outsw", "outsd", NULL,
	};
	static const char *const far_names[] = {
		"iret", "iretd", "iretq", "sysenter", "sysexit", "sysret", "uiret", NULL,
	};
	static const char *const loops[] = {
		"loop", "loope", "loopne", "jcxz", "jecxz", "jrcxz", NULL,
	};
	int imm = zo[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (is("syscall"))
		return X86_SYSCALL;
	if (is("xbegin"))
		return X86_XBEGIN;
	if (is_any(far_names) || zi.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return X86_FAR;
	if (is_any(faults) || zi.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return X86_INT;
	if (is_any(loops))
		return X86_LOOP;
	if (is("jmp"))
		return imm ? X86_JMP : X86_JMP_IND;
	if (is("call"))
		return imm ? X86_CALL : X86_CALL_IND;
	if (is("ret"))
		return X86_RET;
	if (zi.meta.category == ZYDIS_CATEGORY_COND_BR)
		return X86_JCC;
	return zi.meta.category == ZYDIS_CATEGORY_STRINGOP ? X86_STRING : X86_NORMAL;
}

static void one_mem(struct x86_insn *want, const ZydisDecodedOperand *op, unsigned int rw)
{
	struct x86_mem *m = &want->mem[want->nmem++];
	int hidden = op->encoding == ZYDIS_OPERAND_ENCODING_NONE;
	int stack = hidden && !is("movdir64b") && (op->mem.base == ZYDIS_REGISTER_RSP ||
			       op->mem.base == ZYDIS_REGISTER_RBP);

	memset(m, 0, sizeof(*m));
	m->base = gpr(op->mem.base);
	m->index = gpr(op->mem.index);
	m->scale = 1;
	if (op->mem.scale)
		m->scale = op->mem.scale;
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		m->seg = X86_SEG_FS;
	if (op->mem.segment == ZYDIS_REGISTER_GS)
		m->seg = X86_SEG_GS;
	/* Its destination is after es, whatever the prefix; Zydis applies that to both. */
	if (is("movdir64b") && rw == X86_W)
		m->seg = X86_SEG_NONE;
	m->rw = rw;
	m->size = op->size / 8;
	m->disp = op->mem.disp.value;
	if (zi.address_width == 32 && !stack)
		m->flags |= X86_M_ADDR32;
	if (stack && rw == X86_W)
		m->disp = -(s64)m->size;
	if (!hidden && zi.opcode == 0x8f && is("pop") && m->base == X86_RSP)
		m->disp += zi.operand_width / 8;
	if (zi.meta.category == ZYDIS_CATEGORY_STRINGOP)
		m->flags |= X86_M_STRING;
	if (is("xlat")) {
		m->flags |= X86_M_XLAT;
		want->gpr_addr |= X86_BIT(X86_RAX);
	}
	if (zi.mnemonic >= ZYDIS_MNEMONIC_BT && zi.mnemonic <= ZYDIS_MNEMONIC_BTS &&
	    zo[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		m->flags |= X86_M_BITOFF;
		want->gpr_addr |= gpr_bit(zo[1].reg.value);
	}
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		m->flags |= X86_M_VSIB;
		m->index = ZydisRegisterGetId(op->mem.index);
		want->attr |= rw & X86_W ? X86_A_SCATTER : X86_A_GATHER;
	}
	want->gpr_addr |= gpr_bit(op->mem.base) | gpr_bit(op->mem.index);
}

static void memory(struct x86_insn *want)
{
	static const u8 order[] = { X86_R, X86_M, X86_W };
	unsigned int pass, k;

	for (pass = 0; pass < 3; pass++) {
		for (k = 0; k < zi.operand_count; k++) {
			unsigned int rw = 0;

			if (zo[k].type != ZYDIS_OPERAND_TYPE_MEMORY)
				continue;
			if (silent() && zo[k].encoding == ZYDIS_OPERAND_ENCODING_NONE)
				continue;
			want->gpr_read |= gpr_bit(zo[k].mem.base) | gpr_bit(zo[k].mem.index);
			if (zo[k].mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
			    zo[k].mem.type == ZYDIS_MEMOP_TYPE_MIB || silent())
				continue;
			if (zo[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				rw |= X86_R;
			if (zo[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				rw |= X86_W;
			if (rw == order[pass])
				one_mem(want, &zo[k], rw);
		}
	}
}

static void registers(struct x86_insn *want)
{
	static const char *const keepers[] = {
		"bsf", "bsr", "lar", "lsl", "rdsspd", "rdsspq", NULL,
	};
	unsigned int k;

	for (k = 0; k < zi.operand_count; k++) {
		u16 bit;

		if (zo[k].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (zo[k].reg.value == ZYDIS_REGISTER_RIP)
			continue;
		bit = gpr_bit(zo[k].reg.value);
		if (zo[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			want->gpr_read |= bit;
		if (!(zo[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		want->gpr_write |= bit;
		if (is_any(keepers))
			want->gpr_read |= bit;
		else if (zo[k].actions & ZYDIS_OPERAND_ACTION_WRITE && zo[k].size >= 32)
			want->gpr_full |= bit;
	}
	if (is("leave"))
		want->gpr_read &= ~X86_BIT(X86_RSP);
	if (is("xlat"))
		want->gpr_read |= X86_BIT(X86_RAX);
	if (is("syscall")) {
		want->gpr_write |= X86_BIT(X86_RAX);
		want->gpr_read |= 0x07c5;	/* rax, rdx, rsi, rdi, r8 to r10 */
	}
	if (want->kind == X86_STRING) {
		want->gpr_write |= want->gpr_read & (X86_BIT(X86_RSI) | X86_BIT(X86_RDI));
		want->gpr_full = 0;
	}
}

static void fields(struct x86_insn *want)
{
	unsigned int k;

	want->f_reg = want->f_rm = want->f_opc = want->f_vvvv = X86_NONE;
	want->base = want->index = X86_NONE;
	for (k = 0; k < zi.operand_count; k++) {
		if (zo[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    zo[k].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
			want->base = gpr(zo[k].mem.base);
			want->index = gpr(zo[k].mem.index);
			if (zo[k].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
				want->index = ZydisRegisterGetId(zo[k].mem.index);
			if (want->base == X86_RIP)
				want->attr |= X86_A_RIPREL;
		}
		if (zo[k].type != ZYDIS_OPERAND_TYPE_REGISTER || gpr(zo[k].reg.value) > 15 ||
		    zo[k].encoding == ZYDIS_OPERAND_ENCODING_NONE)
			continue;
		if (zo[k].reg.value >= ZYDIS_REGISTER_AH && zo[k].reg.value <= ZYDIS_REGISTER_BH)
			want->attr |= X86_A_HIGH8;
		if (zo[k].encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG)
			want->f_reg = gpr(zo[k].reg.value);
		if (zo[k].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
			want->f_rm = gpr(zo[k].reg.value);
		if (zo[k].encoding == ZYDIS_OPERAND_ENCODING_OPCODE)
			want->f_opc = gpr(zo[k].reg.value);
		if (zo[k].encoding == ZYDIS_OPERAND_ENCODING_NDSNDD)
			want->f_vvvv = gpr(zo[k].reg.value);
	}
	want->off_modrm = zi.raw.modrm.offset;
	want->off_sib = zi.raw.sib.offset;
	want->off_disp = zi.raw.disp.offset;
	want->disp_len = zi.raw.disp.size / 8;
	if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
		want->off_imm = zi.raw.imm[0].offset;
		want->imm_len = (zi.raw.imm[0].size + zi.raw.imm[1].size) / 8;
	}
	if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		want->evex_k = zi.raw.evex.aaa;
	if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		want->w = zi.raw.evex.W;
	else if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
		want->w = zi.raw.vex.W;
	else if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_XOP)
		want->w = zi.raw.xop.W;
	if (zi.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		want->attr |= X86_A_LOCK;
	if (zi.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE)
		want->attr |= X86_A_ADDR32;
}

static void flags(struct x86_insn *want)
{
	const ZydisAccessedFlags *f = zi.cpu_flags;

	if (!f)
		return;
	want->flags_read = f->tested & (X86_ARITH_FLAGS | X86_DF);
	want->flags_write = (f->modified | f->set_0 | f->set_1 | f->undefined) &
			    (X86_ARITH_FLAGS | X86_DF);
}

/*
 * Zydis 4.0 takes r13d as the base of a 32-bit address where ModRM.mod = 0 and
 * SIB.base = 5 mean a bare displacement; test_derive.c asks the processor.
 */
static void fix_base(const unsigned char *code)
{
	unsigned int k;
	int disp;

	if (zi.address_width != 32 || !(zi.attributes & ZYDIS_ATTRIB_HAS_SIB) ||
	    zi.raw.modrm.mod != 0 || zi.raw.sib.base != 5)
		return;
	for (k = 0; k < zi.operand_count; k++) {
		if (zo[k].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    zo[k].encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
			continue;
		zo[k].mem.base = ZYDIS_REGISTER_NONE;
		memcpy(&disp, code + zi.raw.disp.offset, sizeof(disp));
		zo[k].mem.disp.value = disp;
	}
}

int expect_insn(struct x86_insn *want, const unsigned char *code, unsigned int avail)
{
	memset(want, 0, sizeof(*want));
	if (decoder.machine_mode != ZYDIS_MACHINE_MODE_LONG_64 ||
	    decoder.stack_width != ZYDIS_STACK_WIDTH_64)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, avail, &zi, zo)))
		return 0;
	/* Knights Corner: other processors have only its EVEX instructions */
	if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX ||
	    !strncmp(ZydisISAExtGetString(zi.meta.isa_ext), "KNC", 3))
		return 0;
	fix_base(code);
	/* likewise "pause" with REX.B is an xchg with r8, as the processor shows */
	if (is("pause") && zi.attributes & ZYDIS_ATTRIB_HAS_REX && zi.raw.rex.B) {
		unsigned char copy[15];
		unsigned int k;

		for (k = 0; k < zi.length; k++)
			copy[k] = code[k] == 0xf3 ? 0x3e : code[k];
		return expect_insn(want, copy, k);
	}
	want->len = zi.length;
	want->kind = kind();
	memory(want);
	registers(want);
	fields(want);
	flags(want);
	if (zi.raw.imm[0].size && !zi.raw.imm[1].size &&
	    zi.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		want->imm = zi.raw.imm[0].value.s;
	want->disp = zi.raw.disp.value;
	want->opcode = zi.opcode;
	if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		want->opcode = 0x0f;
	return zi.length;
}

const char *expect_text(void)
{
	return ZydisMnemonicGetString(zi.mnemonic);
}
