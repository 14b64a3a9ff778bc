// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Mangling: rewrites instructions that cannot be copied unchanged: those that name r15, which is
 * the record pointer (see also reserved_reg.c), those that are gs-relative, since gs addresses the
 * TLS block, and those that are rip-relative.
 */
#include "translate.h"

#define SEG_FS	0x64
#define SEG_GS	0x65

/*
 * Whether a ModRM operand is gs-relative.  A gs prefix has no effect on push, pop, stos, lea or a
 * register operand.  in->nmem is not tested: clflush references no memory, but can fault.
 */
int mangle_gs(const struct build_insn *bi)
{
	const struct x86_insn *in = &bi->in;

	return in->off_seg && bi->raw[in->off_seg - 1] == SEG_GS && in->off_modrm &&
	       in->modrm < 0xc0 && !(in->enc == X86_LEGACY && !in->map && in->opcode == 0x8d);
}

static u64 rip_target(const struct build_insn *bi)
{
	u64 at = bi->pc + bi->in.len + (u64)(s64)bi->in.disp;

	return bi->in.attr & X86_A_ADDR32 ? (u32)at : at;
}

static int out_of_reach(const struct build *b, const struct build_insn *bi)
{
	s64 rel = (s64)(rip_target(bi) - (u64)b->e.p);

	return rel > 0x7fff0000ll || rel < -0x7fff0000ll;
}

/*
 * Whether a gs-relative operand is not a ModRM operand: an absolute address or an implicit base
 * register.
 */
int mangle_implicit_gs(const struct x86_insn *in)
{
	for (unsigned int i = 0; i < in->nmem; i++)
		if (in->mem[i].seg == X86_SEG_GS && (!in->off_modrm || in->modrm >= 0xc0))
			return 1;
	return 0;
}

int mangle_needed(const struct build_insn *bi)
{
	/* Instructions of kind X86_INT fault before they access an operand. */
	if (bi->in.kind == X86_INT)
		return 0;
	return (bi->in.attr & (X86_A_RIPREL | X86_A_RDGSBASE)) || mangle_gs(bi) ||
	       mangle_implicit_gs(&bi->in) || r15_named(&bi->in);
}

/* Get the base register of a gs-relative operand that is not a ModRM operand. */
static u8 implicit_base(const struct x86_insn *in)
{
	for (unsigned int i = 0; i < in->nmem; i++)
		if (in->mem[i].seg == X86_SEG_GS &&
		    (!in->off_modrm || in->modrm >= 0xc0))
			return in->mem[i].base;
	return X86_NONE;
}

int mangle_supported(const struct x86_insn *in)
{
	int gs = 0;

	/* dispatch_trap() emulates wrgsbase, since the stream needs an event */
	if (in->attr & X86_A_WRGSBASE)
		return 0;
	if (in->kind == X86_FAR || in->kind == X86_XBEGIN || in->attr & X86_A_BRANCH16)
		return 0;
	/* mov fs/gs, pop fs/gs, lfs, lgs would replace the engine's gs base */
	if (in->kind == X86_NORMAL && in->attr & X86_A_MOVSEG &&
	    !(in->map == 0 && in->opcode == 0x8e && ((in->modrm >> 3) & 7) < 4))
		return 0;
	for (unsigned int i = 0; i < in->nmem; i++)
		gs |= in->mem[i].seg == X86_SEG_GS;
	/* gs with a vector index, or an implicit operand with a 32-bit address */
	if (gs && (in->attr & (X86_A_GATHER | X86_A_SCATTER) ||
		   ((!in->off_modrm || implicit_base(in) != X86_NONE) && in->attr & X86_A_ADDR32)))
		return 0;
	return 1;
}

/* Pick a register of @choice, other than @not, that instruction @in does not use. */
static u8 pick(const struct x86_insn *in, const u8 *choice, unsigned int n, u8 not)
{
	u16 used = in->gpr_read | in->gpr_write;

	for (unsigned int i = 0; i < n; i++)
		if (!(used & X86_BIT(choice[i])) && choice[i] != not)
			return choice[i];
	fatal("no free scratch register for an instruction with opcode %x", in->opcode);
}

static u8 pick_high(const struct x86_insn *in, u8 not)
{
	static const u8 choice[] = { X86_R11, X86_R10, X86_R9, X86_R8, X86_R14 };

	return pick(in, choice, sizeof(choice), not);
}

/*
 * Pick a register that can be a base without REX prefix and without SIB byte; rbp is needed for
 * cmpxchg16b.
 */
static u8 pick_low(const struct x86_insn *in)
{
	static const u8 choice[] = {
		X86_RSI, X86_RDI, X86_RDX, X86_RCX, X86_RAX, X86_RBX, X86_RBP,
	};

	return pick(in, choice, sizeof(choice), X86_NONE);
}

/* An instruction being rewritten. */
struct edit {
	u8 b[24];
	u8 len;
	u8 modrm;	/* offset of the ModRM byte in b; 0: none */
	u8 sib, opcode, vex;
	u8 rex;		/* 1 + offset of the REX prefix; 0: none */
};

static void edit_begin(struct edit *ed, const struct build_insn *bi)
{
	const struct x86_insn *in = &bi->in;

	memcpy(ed->b, bi->raw, in->len);
	ed->len = in->len;
	ed->modrm = in->off_modrm;
	ed->sib = in->off_sib;
	ed->opcode = in->off_opcode;
	ed->vex = in->off_vex;
	ed->rex = 0;
	if (in->rex)
		ed->rex = (u8)(in->off_opcode - (in->map == 0 ? 0 : in->map == 1 ? 1 : 2));
}

static void edit_remove(struct edit *ed, unsigned int at, unsigned int n)
{
	memmove(ed->b + at, ed->b + at + n, ed->len - at - n);
	ed->len = (u8)(ed->len - n);
}

static void set3(u8 *byte, unsigned int shift, u8 reg)
{
	*byte = (u8)((*byte & ~(7u << shift)) | (u32)(reg & 7) << shift);
}

/* Replace r15 by register @s in all register fields. */
static void edit_replace_r15(struct edit *ed, const struct x86_insn *in, u8 s)
{
	if (in->f_reg == X86_R15)
		set3(&ed->b[ed->modrm], 3, s);
	if (in->f_rm == X86_R15)
		set3(&ed->b[ed->modrm], 0, s);
	if (in->base == X86_R15)
		set3(&ed->b[ed->sib ? ed->sib : ed->modrm], 0, s);
	if (in->index == X86_R15 && !(in->attr & (X86_A_GATHER | X86_A_SCATTER)))
		set3(&ed->b[ed->sib], 3, s);
	if (in->f_opc == X86_R15)
		set3(&ed->b[ed->opcode], 0, s);
	if (in->f_vvvv == X86_R15) {
		/*
		 * The field vvvv is inverted; a 2-byte VEX prefix has it in byte 1, other prefixes
		 * in byte 2.
		 */
		u8 at = (u8)(ed->vex - 1 + (ed->b[ed->vex - 1] == 0xc5 ? 1 : 2));

		set3(&ed->b[at], 3, (u8)~s);
	}
}

/* Replace the ModRM operand by [@s]; @s is a register of pick_low(). */
static void edit_simple_operand(struct edit *ed, const struct x86_insn *in, u8 s)
{
	unsigned int extra = (in->off_sib ? 1u : 0) + in->disp_len, at = ed->modrm + 1u;

	ed->b[ed->modrm] = (u8)((ed->b[ed->modrm] & 0x38) | s);
	if (s == X86_RBP) {
		/*
		 * [rbp] needs a displacement of 0.  There is room for this byte: the operand had
		 * more than a base.
		 */
		ed->b[ed->modrm] |= 0x40;
		ed->b[at++] = 0;
		extra--;
	}
	edit_remove(ed, at, extra);
	ed->sib = 0;
	if (ed->rex)
		ed->b[ed->rex - 1] &= (u8)~3;
	if (ed->vex && ed->b[ed->vex - 1] != 0xc5)
		ed->b[ed->vex] |= 0x60;
}

/*
 * Number of legacy prefix bytes; REX, VEX and the opcode follow, whose bytes can have the same
 * values.
 */
static unsigned int prefix_bytes(const struct edit *ed)
{
	return ed->vex ? ed->vex - 1u : ed->rex ? ed->rex - 1u : ed->opcode;
}

/*
 * Remove all copies of @prefix, since prefixes may be repeated.  Also remove REX prefixes before
 * other prefixes: they have no effect, but would if the prefix after them were removed.
 */
static void edit_drop_prefix(struct edit *ed, u8 prefix)
{
	unsigned int i = 0;

	while (i < prefix_bytes(ed)) {
		if (ed->b[i] != prefix && (ed->b[i] & 0xf0) != 0x40) {
			i++;
			continue;
		}
		edit_remove(ed, i, 1);
		ed->opcode--;
		if (ed->modrm)
			ed->modrm--;
		if (ed->sib)
			ed->sib--;
		if (ed->vex)
			ed->vex--;
		if (ed->rex)
			ed->rex--;
	}
}

/* Emulate rdgsbase.  Its 32-bit form clears bits 63:32 of the destination. */
static void mangle_rdgsbase(struct build *b, unsigned int n)
{
	void (*load)(struct emit *e, u8 reg, u32 off) =
		b->ins[n].in.rex & 8 ? emit_load_gs : emit_load_gs32;
	u8 reg = b->ins[n].in.f_rm;
	struct emit *e = &b->e;

	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	if (reg != X86_R15) {
		load(e, reg, TLS_GSBASE);
		return;
	}
	emit_store_gs(e, X86_RAX, TLS_SPILL0);
	emit_state(b, STATE_MANGLE, n, X86_RAX, X86_NONE, X86_NONE);
	load(e, X86_RAX, TLS_GSBASE);
	emit_store_gs(e, X86_RAX, TLS_R15);
	emit_state(b, STATE_DONE, n, X86_RAX, X86_NONE, X86_NONE);
	emit_load_gs(e, X86_RAX, TLS_SPILL0);
}

/* Emit a mov between rax and an absolute gs-relative address by a mov through [rcx]. */
static void mangle_gs_moffs(struct build *b, unsigned int n)
{
	const struct build_insn *bi = &b->ins[n];
	const struct x86_insn *in = &bi->in;
	struct emit_operand sum = { .base = X86_RCX, .index = X86_RDX };
	struct emit *e = &b->e;

	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(e, X86_RCX, TLS_SPILL0);
	emit_store_gs(e, X86_RDX, TLS_SPILL1);
	emit_state(b, STATE_MANGLE, n, X86_RCX, X86_RDX, X86_NONE);
	emit_mov_imm64(e, X86_RCX, (u64)in->mem[0].disp);
	emit_load_gs(e, X86_RDX, TLS_GSBASE);
	emit_op_mem(e, 0x8d, X86_RCX, &sum);
	if (in->opsize == 2)
		emit8(e, 0x66);
	if (in->opsize == 8)
		emit8(e, 0x48);
	/* a0..a3: load or store of al or rAX; 8a, 8b, 88, 89 with [rcx] */
	emit8(e, (u8)(0x88 | (in->opcode & 1) | (in->opcode & 2 ? 0 : 2)));
	emit8(e, 0x01);
	emit_state(b, STATE_DONE, n, X86_RCX, X86_RDX, X86_NONE);
	emit_load_gs(e, X86_RCX, TLS_SPILL0);
	emit_load_gs(e, X86_RDX, TLS_SPILL1);
}

/*
 * Emit a string instruction, xlat or maskmov with gs-relative operand: add the gs base to its base
 * register while it runs.
 */
static void mangle_gs_implicit(struct build *b, unsigned int n, u8 base)
{
	const struct build_insn *bi = &b->ins[n];
	u8 s = pick_low(&bi->in);
	struct emit_operand sum = { .base = base, .index = s };
	struct emit *e = &b->e;
	struct edit ed;

	edit_begin(&ed, bi);
	edit_drop_prefix(&ed, SEG_GS);
	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(e, s, TLS_SPILL0);
	emit_state(b, STATE_MANGLE, n, s, X86_NONE, X86_NONE);
	emit_load_gs(e, s, TLS_GSBASE);
	emit_op_mem(e, 0x8d, base, &sum);
	emit_state(b, STATE_GS, n, s, base, X86_NONE);
	emit_bytes(e, ed.b, ed.len);
	emit_state(b, STATE_GS_DONE, n, s, base, X86_NONE);
	/* base -= s, without changing a flag: not s; lea base, [base + s + 1] */
	emit8(e, 0x48);
	emit8(e, 0xf7);
	emit8(e, (u8)(0xd0 | s));
	sum.disp = 1;
	emit_op_mem(e, 0x8d, base, &sum);
	emit_state(b, STATE_DONE, n, s, X86_NONE, X86_NONE);
	emit_load_gs(e, s, TLS_SPILL0);
}

/*
 * Emit code that loads the address of the ModRM operand, without its segment base, to @sa.  @s15 is
 * the register that replaces r15.
 */
static void emit_address(struct build *b, const struct build_insn *bi, u8 sa, u8 s15)
{
	const struct x86_insn *in = &bi->in;
	struct emit_operand m = {
		.base = in->base == X86_R15 ? s15 : in->base,
		.index = in->index == X86_R15 ? s15 : in->index,
		.scale_bits = in->off_sib ? in->sib >> 6 : 0,
		.addr32 = !!(in->attr & X86_A_ADDR32),
		.disp = in->disp,
	};

	/* pop computes its address after it has increased rsp */
	if (in->enc == X86_LEGACY && in->map == 0 && in->opcode == 0x8f && in->base == X86_RSP)
		m.disp += in->mem[0].size;
	if (in->attr & X86_A_RIPREL)
		emit_mov_imm64(&b->e, sa, rip_target(bi));
	else
		emit_op_mem(&b->e, 0x8d, sa, &m);
}

static void mangle_with_scratch(struct build *b, unsigned int n, int r15, int gs, int far)
{
	const struct build_insn *bi = &b->ins[n];
	const struct x86_insn *in = &bi->in;
	u8 s15 = b->held, sa = X86_NONE, sb = X86_NONE;
	struct emit *e = &b->e;
	struct edit ed;

	edit_begin(&ed, bi);
	emit_state(b, STATE_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	if (r15)
		edit_replace_r15(&ed, in, s15);
	if (gs || far) {
		sa = pick_low(in);
		emit_store_gs(e, sa, TLS_SPILL1);
		emit_state(b, STATE_MANGLE, n, s15, sa, X86_NONE);
		if (gs) {
			sb = pick_high(in, s15);
			emit_store_gs(e, sb, TLS_SPILL2);
			emit_state(b, STATE_MANGLE, n, s15, sa, sb);
		}
		emit_address(b, bi, sa, s15);
		if (gs) {
			struct emit_operand sum = { .base = sa, .index = sb };

			emit_load_gs(e, sb, TLS_GSBASE);
			emit_op_mem(e, 0x8d, sa, &sum);
			edit_simple_operand(&ed, in, sa);
			edit_drop_prefix(&ed, SEG_GS);
			edit_drop_prefix(&ed, SEG_FS);
			edit_drop_prefix(&ed, 0x67);
		} else {
			edit_simple_operand(&ed, in, sa);
		}
	}
	if (!far && !gs && in->attr & X86_A_RIPREL) {
		s32 rel = (s32)(rip_target(bi) - ((u64)e->p + ed.len));

		memcpy(ed.b + in->off_disp, &rel, 4);
	}
	emit_bytes(e, ed.b, ed.len);
	if (r15 && in->gpr_write & X86_BIT(X86_R15)) {
		emit_state(b, STATE_DONE_R15, n, s15, sa, sb);
		emit_store_gs(e, s15, TLS_R15);
	} else {
		emit_state(b, STATE_DONE, n, s15, sa, sb);
	}
	if (sb != X86_NONE)
		emit_load_gs(e, sb, TLS_SPILL2);
	if (sa != X86_NONE)
		emit_load_gs(e, sa, TLS_SPILL1);
}

static void mangle_rip(struct build *b, unsigned int n)
{
	const struct build_insn *bi = &b->ins[n];
	s32 rel;

	emit_state(b, STATE_RUN, n, X86_NONE, X86_NONE, X86_NONE);
	rel = (s32)(rip_target(bi) - ((u64)b->e.p + bi->in.len));
	emit_bytes(&b->e, bi->raw, bi->in.len);
	if (!b->e.overflow)
		memcpy(b->e.p - bi->in.len + bi->in.off_disp, &rel, 4);
}

void mangle_insn(struct build *b, unsigned int n)
{
	const struct build_insn *bi = &b->ins[n];
	const struct x86_insn *in = &bi->in;
	int r15 = r15_named(in), gs = mangle_gs(bi);
	int far = in->attr & X86_A_RIPREL && out_of_reach(b, bi);

	if (in->attr & X86_A_RDGSBASE) {
		mangle_rdgsbase(b, n);
		return;
	}
	if (mangle_implicit_gs(in)) {
		if (implicit_base(in) != X86_NONE)
			mangle_gs_implicit(b, n, implicit_base(in));
		else
			mangle_gs_moffs(b, n);
		return;
	}
	if (!r15 && !gs && !far) {
		mangle_rip(b, n);
		return;
	}
	if (r15 && b->held == X86_NONE) {
		r15_emit_slot_form(b, n);
		return;
	}
	mangle_with_scratch(b, n, r15, gs, far);
}

static void load_target_operand(struct build *b, const struct build_insn *bi)
{
	const struct x86_insn *in = &bi->in;
	struct emit *e = &b->e;
	struct emit_operand m = {
		.base = in->base,
		.index = in->index,
		.scale_bits = in->off_sib ? in->sib >> 6 : 0,
		.seg = in->off_seg && bi->raw[in->off_seg - 1] == 0x64 ? 0x64 : 0,
		.addr32 = !!(in->attr & X86_A_ADDR32),
		.disp = in->disp,
	};

	if (in->attr & X86_A_RIPREL) {
		emit_mov_imm64(e, X86_RCX, rip_target(bi));
		m = (struct emit_operand){ .base = X86_RCX, .index = X86_NONE, .seg = m.seg };
	} else if (m.base == X86_R15 || m.index == X86_R15) {
		u8 s = m.base == X86_RCX || m.index == X86_RCX ? X86_RDX : X86_RCX;

		emit_load_gs(e, s, TLS_R15);
		if (m.base == X86_R15)
			m.base = s;
		if (m.index == X86_R15)
			m.index = s;
	}
	if (mangle_gs(bi)) {
		emit_op_mem(e, 0x8d, X86_RCX, &m);
		emit_load_gs(e, X86_RDX, TLS_GSBASE);
		m = (struct emit_operand){ .base = X86_RCX, .index = X86_RDX };
	}
	emit_op_mem(e, 0x8b, X86_RCX, &m);
}

void mangle_load_target(struct build *b, unsigned int n)
{
	const struct build_insn *bi = &b->ins[n];
	const struct x86_insn *in = &bi->in;
	struct emit *e = &b->e;

	if (in->kind == X86_RET) {
		struct emit_operand top = { .base = X86_RSP, .index = X86_NONE };

		emit_op_mem(e, 0x8b, X86_RCX, &top);
		return;
	}
	if (in->modrm < 0xc0) {
		load_target_operand(b, bi);
		return;
	}
	if (in->f_rm == X86_R15) {
		emit_load_gs(e, X86_RCX, TLS_R15);
	} else if (in->f_rm != X86_RCX) {
		/* mov rcx, reg */
		emit8(e, (u8)(0x48 | (in->f_rm >> 3)));
		emit8(e, 0x8b);
		emit8(e, (u8)(0xc8 | (in->f_rm & 7)));
	}
}
