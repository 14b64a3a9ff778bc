// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From instruction bytes to the operands that touch memory.
 */
#include <Zydis/Zydis.h>
#include <stddef.h>
#include <string.h>

#include "oracle.h"

#define READS	(ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_CONDREAD)
#define WRITES	(ZYDIS_OPERAND_ACTION_WRITE | ZYDIS_OPERAND_ACTION_CONDWRITE)

static uint16_t reg_offset(ZydisRegister reg)
{
#define R(name, field)						\
	case ZYDIS_REGISTER_##name:				\
		return offsetof(struct user_regs_struct, field)
	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return RIP_REG;
	switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
	R(RAX, rax);
	R(RBX, rbx);
	R(RCX, rcx);
	R(RDX, rdx);
	R(RSI, rsi);
	R(RDI, rdi);
	R(RBP, rbp);
	R(RSP, rsp);
	R(R8, r8);
	R(R9, r9);
	R(R10, r10);
	R(R11, r11);
	R(R12, r12);
	R(R13, r13);
	R(R14, r14);
	R(R15, r15);
	default:
		return NO_REG;
	}
#undef R
}

/* Instructions whose memory operand is not accessed. */
static bool touches_memory(const ZydisDecodedInstruction *zi)
{
	switch (zi->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_MPX:	/* long nops if MPX is off, as it is here */
	case ZYDIS_CATEGORY_AMX_TILE:
		return false;
	default:
		return zi->mnemonic != ZYDIS_MNEMONIC_CLFLUSH;
	}
}

static unsigned int vsib_index_size(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_VGATHERDPD:
	case ZYDIS_MNEMONIC_VGATHERDPS:
	case ZYDIS_MNEMONIC_VPGATHERDD:
	case ZYDIS_MNEMONIC_VPGATHERDQ:
	case ZYDIS_MNEMONIC_VSCATTERDPD:
	case ZYDIS_MNEMONIC_VSCATTERDPS:
	case ZYDIS_MNEMONIC_VPSCATTERDD:
	case ZYDIS_MNEMONIC_VPSCATTERDQ:
		return 4;
	default:
		return 8;
	}
}

static bool is_gather_prefetch(ZydisMnemonic m)
{
	return m >= ZYDIS_MNEMONIC_VGATHERPF0DPD && m <= ZYDIS_MNEMONIC_VGATHERPF1QPS;
}

static bool is_scatter_prefetch(ZydisMnemonic m)
{
	return m >= ZYDIS_MNEMONIC_VSCATTERPF0DPD && m <= ZYDIS_MNEMONIC_VSCATTERPF1QPS;
}

static unsigned int reg_bytes(ZydisRegister reg)
{
	return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8;
}

static void decode_vsib(struct insn *in, const ZydisDecodedInstruction *zi,
			const ZydisDecodedOperand *zo, const ZydisDecodedOperand *mem)
{
	unsigned int data = 0, by_index, by_data;
	int i;

	in->kind = KIND_VSIB;
	in->evex = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	in->index_size = vsib_index_size(zi->mnemonic);
	for (i = 0; i < zi->operand_count_visible; i++) {
		ZydisRegisterClass class;

		if (zo[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		class = ZydisRegisterGetClass(zo[i].reg.value);
		if (class == ZYDIS_REGCLASS_MASK || (!in->evex && i == 2))
			in->mask = ZydisRegisterGetId(zo[i].reg.value);
		else
			data = reg_bytes(zo[i].reg.value);
	}
	by_index = reg_bytes(mem->mem.index) / in->index_size;
	by_data = data / (mem->size / 8);
	in->nelem = by_index < by_data ? by_index : by_data;
	in->op[0].index = ZydisRegisterGetId(mem->mem.index);
}

/*
 * Size of an element of a vector move or comparison with a mask, which decides about the access; 0:
 * none.
 */
static unsigned int masked_element(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_VMOVDQU8:
	case ZYDIS_MNEMONIC_VPCMPB:
	case ZYDIS_MNEMONIC_VPCMPUB:
	case ZYDIS_MNEMONIC_VPCMPEQB:
		return 1;
	case ZYDIS_MNEMONIC_VMOVDQU16:
	case ZYDIS_MNEMONIC_VPCMPW:
	case ZYDIS_MNEMONIC_VPCMPUW:
	case ZYDIS_MNEMONIC_VPCMPEQW:
		return 2;
	case ZYDIS_MNEMONIC_VMOVDQA32:
	case ZYDIS_MNEMONIC_VMOVDQU32:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVSS:
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
		return 4;
	case ZYDIS_MNEMONIC_VMOVDQA64:
	case ZYDIS_MNEMONIC_VMOVDQU64:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVSD:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return 8;
	default:
		return 0;
	}
}

static bool is_maskmov(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_VMASKMOVPS || m == ZYDIS_MNEMONIC_VMASKMOVPD ||
	       m == ZYDIS_MNEMONIC_VPMASKMOVD || m == ZYDIS_MNEMONIC_VPMASKMOVQ;
}

static void decode_masked(struct insn *in, const ZydisDecodedInstruction *zi,
			  const ZydisDecodedOperand *zo)
{
	unsigned int elem = masked_element(zi);
	int i;

	in->evex = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	if (!elem || in->nops != 1 || !(in->evex || is_maskmov(zi->mnemonic)))
		return;
	/* Without a mask the field is k0. */
	for (i = 0; i < zi->operand_count; i++)
		if (zo[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    zo[i].encoding == (in->evex ? ZYDIS_OPERAND_ENCODING_MASK :
						  ZYDIS_OPERAND_ENCODING_NDSNDD))
			in->mask = ZydisRegisterGetId(zo[i].reg.value);
	if (in->evex && !in->mask)
		return;
	in->kind = KIND_MASKED;
	in->index_size = elem;
	in->nelem = in->op[0].size / elem;
}

/* bt, bts, btr and btc with the offset in a register can access memory outside of their operand. */
static bool is_bit_string(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *zo)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return zo[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

static void decode_operand(struct operand *op, const ZydisDecodedInstruction *zi,
			   const ZydisDecodedOperand *zo, const ZydisDecodedOperand *mem)
{
	bool stack = mem->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		     mem->mem.segment == ZYDIS_REGISTER_SS;

	op->type = ((mem->actions & READS) ? REF_READ : 0) |
		   ((mem->actions & WRITES) ? REF_WRITE : 0);
	op->size = mem->size / 8;
	op->base = reg_offset(mem->mem.base);
	op->index = reg_offset(mem->mem.index);
	op->scale = mem->mem.scale;
	op->disp = mem->mem.disp.value;
	op->bitreg = NO_REG;
	op->stack = stack;
	if (mem->mem.segment == ZYDIS_REGISTER_FS)
		op->seg = SEG_FS;
	else if (mem->mem.segment == ZYDIS_REGISTER_GS)
		op->seg = SEG_GS;
	if (stack && op->type == REF_WRITE)
		op->disp = -(int64_t)op->size;
	if (zi->mnemonic == ZYDIS_MNEMONIC_POP && !stack &&
	    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, mem->mem.base) ==
	    ZYDIS_REGISTER_RSP)
		op->pop = op->size;
	if (is_bit_string(zi, zo))
		op->bitreg = reg_offset(zo[1].reg.value);
}

static void decode_operands(struct insn *in, const ZydisDecodedInstruction *zi,
			    const ZydisDecodedOperand *zo)
{
	static const uint8_t order[] = { REF_READ, REF_MODIFY, REF_WRITE };
	const ZydisDecodedOperand *vsib = NULL;
	struct operand op;
	unsigned int pass;
	int i;

	for (pass = 0; pass < 3; pass++) {
		for (i = 0; i < zi->operand_count; i++) {
			if (zo[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
				continue;
			if (zo[i].mem.type != ZYDIS_MEMOP_TYPE_MEM &&
			    zo[i].mem.type != ZYDIS_MEMOP_TYPE_VSIB)
				continue;
			memset(&op, 0, sizeof(op));
			decode_operand(&op, zi, zo, &zo[i]);
			if (op.type != order[pass] || in->nops == MAX_OPERANDS)
				continue;
			in->op[in->nops++] = op;
			if (zo[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
				vsib = &zo[i];
		}
	}
	if (vsib)
		decode_vsib(in, zi, zo, vsib);
	else
		decode_masked(in, zi, zo);
}

static void classify(struct insn *in, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *zo)
{
	if (zi->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
	    zi->meta.category == ZYDIS_CATEGORY_RET ||
	    zi->meta.category == ZYDIS_CATEGORY_CALL ||
	    zi->meta.category == ZYDIS_CATEGORY_COND_BR ||
	    zi->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		in->flags |= INSN_BRANCH;
	if (zi->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
			      ZYDIS_ATTRIB_HAS_REPNE))
		in->flags |= INSN_REP;
	if (zi->address_width == 32)
		in->flags |= INSN_ADDR32;
	if (zi->mnemonic == ZYDIS_MNEMONIC_CPUID)
		in->flags |= INSN_CPUID;
	in->opsize = zi->operand_width == 16 ? 2 : 8;

	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
		in->kind = KIND_SYSCALL;
		break;
	case ZYDIS_MNEMONIC_INT:
		in->kind = zo[0].imm.value.u == 0x80 ? KIND_SYSCALL : KIND_INT3;
		break;
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		in->kind = KIND_INT3;
		break;
	case ZYDIS_MNEMONIC_ENTER:
		in->kind = KIND_ENTER;
		in->level = zo[1].imm.value.u & 31;
		break;
	case ZYDIS_MNEMONIC_XLAT:
		in->kind = KIND_XLAT;
		break;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		in->flags |= INSN_PUSHF;
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (zo[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    zo[0].reg.value == ZYDIS_REGISTER_SS)
			in->flags |= INSN_SHADOW;
		break;
	default:
		break;
	}
}

/**
 * decode_insn() - decode the instruction at in->pc
 * @in: pc is set, the rest is filled in; kind is KIND_UNKNOWN if it does not decode
 * @bytes: @avail bytes from there
 */
void decode_insn(struct insn *in, const uint8_t *bytes, unsigned int avail)
{
	ZydisDecodedOperand zo[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	static ZydisDecoder decoder;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	in->kind = KIND_PLAIN;
	in->flags = 0;
	in->nops = 0;
	in->len = avail;
	memcpy(in->bytes, bytes, avail);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, avail, &zi, zo))) {
		in->kind = KIND_UNKNOWN;
		return;
	}
	in->len = zi.length;
	classify(in, &zi, zo);
	if (touches_memory(&zi) && !is_gather_prefetch(zi.mnemonic) &&
	    !is_scatter_prefetch(zi.mnemonic))
		decode_operands(in, &zi, zo);
}
