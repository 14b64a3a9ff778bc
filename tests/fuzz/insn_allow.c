// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which instructions may be part of a sequence.
 */
#include <string.h>

#include "insn_gen.h"

/* Instructions with varying results, or with state outside of the case. */
static int excluded_mnemonic(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_RDPMC:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_XGETBV:
	case ZYDIS_MNEMONIC_LAR:
	case ZYDIS_MNEMONIC_LSL:
	case ZYDIS_MNEMONIC_VERR:
	case ZYDIS_MNEMONIC_VERW:
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_MONITORX:
	case ZYDIS_MNEMONIC_MWAITX:
	case ZYDIS_MNEMONIC_MONITOR:
	case ZYDIS_MNEMONIC_MWAIT:
	case ZYDIS_MNEMONIC_SERIALIZE:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_LDS:
	case ZYDIS_MNEMONIC_LES:
	case ZYDIS_MNEMONIC_LFS:
	case ZYDIS_MNEMONIC_LGS:
	case ZYDIS_MNEMONIC_LSS:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	/* These store the address of the last x87 instruction. */
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XTEST:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_WRGSBASE:	/* base_register() makes it */
		return 1;
	default:
		return 0;
	}
}

static int excluded_category(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_RDPID:
	case ZYDIS_CATEGORY_RDPRU:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_PKU:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_KEYLOCKER:
	case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_PT:
	case ZYDIS_CATEGORY_TSX_LDTRK:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_PCONFIG:
	case ZYDIS_CATEGORY_HRESET:
		return 1;
	default:
		return in->meta.isa_set == ZYDIS_ISA_SET_SVM ||
		       in->meta.isa_set == ZYDIS_ISA_SET_RTM;
	}
}

/* Documented limits of the engine: gs with an operand that is not ModRM's. */
static int limited(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    o->mem.segment != ZYDIS_REGISTER_GS)
			continue;
		/* bt's bit offset is added, but not truncated to 32 bits */
		if (in->address_width == 32 && in->mnemonic >= ZYDIS_MNEMONIC_BT &&
		    in->mnemonic <= ZYDIS_MNEMONIC_BTS)
			return 1;
		if (o->encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM ||
		    o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			return 1;
	}
	return 0;
}

int allowed(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op, const uint8_t *b)
{
	if (excluded_category(in) || excluded_mnemonic(in) || limited(in, op))
		return 0;
	if (in->mnemonic == ZYDIS_MNEMONIC_CLZERO && memchr(b, 0x65, in->length - 3u))
		return 0;
	/* int 0x80 is a system call. */
	if (in->mnemonic == ZYDIS_MNEMONIC_INT && b[in->length - 1] == 0x80)
		return 0;
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		/*
		 * "push; vpbroadcastd zmm, esp" with EVEX.X clear gives rsp before or after the
		 * push, depending on the neighbouring instructions: an erratum of the processor
		 * (Zen 5).
		 */
		if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && !in->raw.evex.X &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) ==
		    ZYDIS_REGISTER_RSP)
			return 0;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_SEGMENT)
			return 0;
	}
	return 1;
}

static int good_base(const struct gen *g, const ZydisDecodedOperand *o, int addr32)
{
	ZydisRegister r = o->mem.base;
	int id = ZydisRegisterGetId(r);

	if (r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP)
		return 1;
	if (r == ZYDIS_REGISTER_NONE)
		return 1;
	return (addr32 ? g->low : g->pointer) >> id & 1;
}

static int good_index(const struct gen *g, const ZydisDecodedOperand *o)
{
	ZydisRegister r = o->mem.index;
	int id = ZydisRegisterGetId(r);

	if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
		return (id & ~16) >= 4 && (id & ~16) < 8;
	if (r == ZYDIS_REGISTER_NONE || r == ZYDIS_REGISTER_AL)
		return 1;
	if (o->mem.base == ZYDIS_REGISTER_NONE)
		return g->pointer >> id & 1 && o->mem.scale == 1 && o->mem.disp.value < 4096;
	return g->small >> id & 1;
}

int promising(const struct gen *g, const ZydisDecodedInstruction *in,
	      const ZydisDecodedOperand *op)
{
	int bits = in->mnemonic == ZYDIS_MNEMONIC_BT || in->mnemonic == ZYDIS_MNEMONIC_BTS ||
		   in->mnemonic == ZYDIS_MNEMONIC_BTR || in->mnemonic == ZYDIS_MNEMONIC_BTC;
	ZydisInstructionCategory c = in->meta.category;

	if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ||
	    c == ZYDIS_CATEGORY_IO || c == ZYDIS_CATEGORY_IOSTRINGOP ||
	    c == ZYDIS_CATEGORY_INTERRUPT || c == ZYDIS_CATEGORY_MPX ||
	    c == ZYDIS_CATEGORY_CET || c == ZYDIS_CATEGORY_FP16 ||
	    c == ZYDIS_CATEGORY_AMD3DNOW || c == ZYDIS_CATEGORY_FMA4)
		return 0;
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		if (!good_base(g, o, in->address_width == 32) || !good_index(g, o))
			return 0;
		if (bits && op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    !(g->small >> ZydisRegisterGetId(op[1].reg.value) & 1))
			return 0;
	}
	if (in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
			      ZYDIS_ATTRIB_HAS_REPNE))
		return g->small >> 1 & 1;
	return 1;
}
