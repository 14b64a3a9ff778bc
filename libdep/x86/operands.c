// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The second part of the decoder: determines which registers, memory and flags an instruction reads
 * and writes.
 */
#include "decode_internal.h"
#include "x86tab.h"

/* Note the access to the general register that an instruction field names; return its number. */
static inline u8 field(struct x86_insn *in, unsigned int bits, unsigned int number)
{
	u16 mask;

	bits &= 31;
	if (!bits)
		return X86_NONE;
	if (bits & X86_FB_8 && !in->rex && number - 4 < 4 && in->enc == X86_LEGACY) {
		number -= 4;
		in->attr |= X86_A_HIGH8;
	}
	number &= 15;
	mask = X86_BIT(number);
	if (bits & X86_FB_R)
		in->gpr_read |= mask;
	if (bits & X86_FB_W)
		in->gpr_write |= mask;
	if (bits & X86_FB_FULL)
		in->gpr_full |= mask;
	return number;
}

static void registers(struct x86_insn *in, const struct x86_cursor *c, const struct x86_row *row)
{
	const struct x86_implicit *impl = &x86_implicits[row->implicit];
	u32 f = row->fields;

	in->gpr_read = impl->read;
	in->gpr_write = impl->write;
	in->gpr_full = impl->full;
	if (f & X86_RF_MODRM) {
		in->f_reg = field(in, f >> X86_FB_SHIFT(X86_FLD_REG),
				  (in->modrm >> 3 & 7) | c->r << 3);
		in->f_rm = field(in, f >> X86_FB_SHIFT(X86_FLD_RM), (in->modrm & 7) | c->b << 3);
		if (in->enc != X86_LEGACY)
			in->f_vvvv = field(in, f >> X86_FB_SHIFT(X86_FLD_VVVV), c->vvvv);
	} else {
		in->f_opc = field(in, f >> X86_FB_SHIFT(X86_FLD_OPC),
				  (in->opcode & 7) | c->b << 3);
	}
}

/* Set memory operand @m from the ModRM byte.  Return: the mask of registers in its address. */
static u16 modrm_mem(struct x86_insn *in, struct x86_mem *m, const struct x86_row *row, int vsib)
{
	u16 addr = 0;

	m->base = in->base;
	m->index = in->index;
	if (in->index != X86_NONE)
		m->scale = 1 << (in->sib >> 6);
	m->disp = in->disp;
	if (row->fields & X86_RF_BITOFF) {
		m->flags |= X86_M_BITOFF;
		addr |= X86_BIT(in->f_reg);
	}
	if (row->fields & X86_RF_POPMEM && in->base == X86_RSP)
		m->disp += in->opsize;
	if (vsib) {
		m->flags |= X86_M_VSIB;
		in->vsib_elem = in->opcode & 1 ? 8 : 4;
	} else if (m->index != X86_NONE) {
		addr |= X86_BIT(m->index);
	}
	if (m->base < 16)
		addr |= X86_BIT(m->base);
	return addr;
}

static void one_mem(struct x86_insn *in, const struct x86_cursor *c, const struct x86_row *row,
		    const struct x86_mt_entry *t)
{
	struct x86_mem *m = &in->mem[in->nmem++];
	u16 addr = 0;

	*m = (struct x86_mem){
		.rw = t->rw, .size = t->size, .base = X86_NONE, .index = X86_NONE, .scale = 1,
		.flags = in->attr & X86_A_ADDR32 ? X86_M_ADDR32 : 0, .seg = c->seg,
	};
	switch (t->what) {
	case X86_MT_VSIB:
	case X86_MT_MODRM:
		addr = modrm_mem(in, m, row, t->what == X86_MT_VSIB);
		break;
	case X86_MT_PUSH:
	case X86_MT_POP:
		m->base = X86_RSP;
		m->disp = t->what == X86_MT_PUSH ? -(s64)t->size : 0;
		m->flags = 0;
		m->seg = X86_SEG_NONE;
		addr = X86_BIT(X86_RSP);
		break;
	case X86_MT_RBP:
		m->base = X86_RBP;
		m->flags = 0;
		m->seg = X86_SEG_NONE;
		addr = X86_BIT(X86_RBP);
		break;
	case X86_MT_RDI:
		m->seg = X86_SEG_NONE;
		m->base = X86_RDI;
		m->flags |= X86_M_STRING;
		addr = X86_BIT(X86_RDI);
		break;
	case X86_MT_RSI:
		m->base = X86_RSI;
		m->flags |= X86_M_STRING;
		addr = X86_BIT(X86_RSI);
		break;
	case X86_MT_MASKMOV:
		m->base = X86_RDI;
		addr = X86_BIT(X86_RDI);
		break;
	case X86_MT_XLAT:
		m->base = X86_RBX;
		m->flags |= X86_M_XLAT;
		addr = X86_BIT(X86_RBX) | X86_BIT(X86_RAX);
		break;
	case X86_MT_REGADDR:
		m->seg = X86_SEG_NONE;
		m->base = in->f_reg;
		addr = X86_BIT(in->f_reg);
		break;
	default:	/* X86_MT_MOFFS */
		m->disp = in->imm;
		in->imm = 0;
		break;
	}
	in->gpr_addr |= addr;
	in->gpr_read |= addr;
}

void x86_operands(struct x86_insn *in, const struct x86_cursor *c, const struct x86_row *row)
{
	const struct x86_flagset *flags = &x86_flagsets[row->flags];
	const struct x86_mt_entry *t = x86_memlists[row->mem].t;
	unsigned int i;

	registers(in, c, row);
	in->flags_read = flags->read;
	in->flags_write = flags->write;
	in->flags_kill = flags->kill;
	in->vreg = (in->modrm >> 3 & 7) | c->r << 3 | c->r2 << 4;
	in->vvvv = c->vvvv;
	if (c->p66 && !c->w && in->kind >= X86_JCC && in->kind <= X86_RET)
		in->attr |= X86_A_BRANCH16;
	if (in->kind == X86_STRING && c->rep)
		in->attr |= c->rep == 1 ? X86_A_REP : X86_A_REPNE;
	for (i = 0; i < 3 && t[i].what; i++)
		one_mem(in, c, row, &t[i]);
	if (in->base < 16)
		in->gpr_read |= X86_BIT(in->base);
	if (in->index < 16 && !(row->fields & X86_RF_VSIB))
		in->gpr_read |= X86_BIT(in->index);
}

/*
 * Element size in bytes of moves between memory and a vector register (tables of Intel's SDM,
 * volume 2); 0: another instruction.
 */
static unsigned int evex_move_elem(const struct x86_insn *in)
{
	static const u8 floats[4] = { 4, 8, 4, 8 };	/* ps, pd, ss, sd */

	switch (in->opcode) {
	case 0x10:
	case 0x11:
		return floats[in->pp];
	case 0x28:
	case 0x29:
		return in->pp < 2 ? floats[in->pp] : 0;
	case 0x6f:
	case 0x7f:
		if (in->pp == 3)
			return in->w ? 2 : 1;
		return !in->pp ? 0 : in->w ? 8 : 4;
	}
	return 0;
}

/*
 * Element size in bytes of comparisons of bytes and words, as in memcmp().  Comparisons of wider
 * elements are excluded, since they may broadcast one element from memory.
 */
static unsigned int evex_compare_elem(const struct x86_insn *in)
{
	if (in->pp != 1)
		return 0;
	if (in->map == 3 && (in->opcode == 0x3e || in->opcode == 0x3f))
		return in->w ? 2 : 1;
	if (in->map == 1 && (in->opcode == 0x74 || in->opcode == 0x75))
		return in->opcode == 0x75 ? 2 : 1;
	return 0;
}

static unsigned int evex_elem(const struct x86_insn *in)
{
	unsigned int elem = in->map == 1 ? evex_move_elem(in) : 0;

	return elem ? elem : evex_compare_elem(in);
}

static unsigned int vex_maskmov_elem(const struct x86_insn *in)
{
	switch (in->opcode) {
	case 0x2c:
	case 0x2e:
		return 4;
	case 0x2d:
	case 0x2f:
		return 8;
	case 0x8c:
	case 0x8e:
		return in->w ? 8 : 4;
	}
	return 0;
}

unsigned int x86_mask_elem(const struct x86_insn *in)
{
	if (in->nmem != 1 || in->mem[0].flags & X86_M_VSIB)
		return 0;
	if (in->enc == X86_EVEX)
		return in->evex_k ? evex_elem(in) : 0;
	return in->enc == X86_VEX && in->map == 2 && in->pp == 1 ? vex_maskmov_elem(in) : 0;
}

unsigned int x86_enter_refs(const struct x86_insn *in, u64 rsp, u64 rbp,
			    void (*emit)(void *arg, u64 addr, unsigned int size, int rw),
			    void *arg)
{
	unsigned int level = in->imm >> 16 & 31, n = 0, size = in->opsize, i;

	rsp -= size;	/* mem[0] is the push of rbp */
	for (i = 1; i < level; i++) {
		emit(arg, rbp - i * size, size, X86_R);
		rsp -= size;
		emit(arg, rsp, size, X86_W);
		n += 2;
	}
	if (level) {
		emit(arg, rsp - size, size, X86_W);
		n++;
	}
	return n;
}
