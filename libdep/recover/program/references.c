// SPDX-License-Identifier: LGPL-2.1-or-later
/* Compile the memory references of an instruction into operations. */
#include <errno.h>

#include "libdep/format/file/error.h"
#include "compile.h"

static int corrupt(const struct dep_builder *b, const struct dep_site *at, const char *why)
{
	return dep_fail(-EBADMSG, "fragment %u: instruction %u at %llx: %s", b->d->first_exit,
			at->number, (unsigned long long)at->pc, why);
}

static u8 seg_slot(u8 seg)
{
	return seg == X86_SEG_FS ? DEP_S_FS : seg == X86_SEG_GS ? DEP_S_GS : DEP_S_ZERO;
}

static int slot_of(const struct dep_builder *b, u8 reg, u8 *slot)
{
	if (reg >= 16) {
		*slot = DEP_S_ZERO;
		return 0;
	}
	*slot = reg;
	return b->known & X86_BIT(reg) ? 0 : -1;
}

/* Add the offset from a register that xlat and bit string instructions add to the address. */
static int add_extra_offset(struct dep_builder *b, struct dep_site *at, const struct x86_mem *m,
			    struct dep_op *ref)
{
	u8 src, off = m->flags & X86_M_XLAT ? X86_RAX : at->in->f_reg;
	struct dep_op *op;

	if (slot_of(b, off, &src) || src == DEP_S_ZERO)
		return corrupt(b, at, "the value of an offset register is unknown");
	op = dep_add_op(b, DEP_O_LEA, at->pc);
	op->dst = DEP_S_TMP;
	op->src = ref->src;
	op->src2 = ref->src2;
	op->shift = ref->shift;
	op->imm = ref->imm;
	op = dep_add_op(b, m->flags & X86_M_XLAT ? DEP_O_LOW8 : DEP_O_BITOFF, at->pc);
	op->dst = DEP_S_TMP2;
	op->src = src;
	op->size = m->size;
	ref->src = DEP_S_TMP;
	ref->src2 = DEP_S_TMP2;
	ref->shift = 0;
	ref->imm = 0;
	return 0;
}

/* True for a masked move with a recorded mask.  Older recordings lack it: all elements count. */
static bool has_mask(const struct dep_site *at)
{
	if (!x86_mask_elem(at->in))
		return false;
	return at->in->enc == X86_EVEX ? at->kreg : at->vec[1] >= at->in->mem[0].size;
}

/* Set the constant part of an address.  It is relative to the base only in DEP_O_REF0. */
static int set_disp(struct dep_builder *b, struct dep_site *at, const struct x86_mem *m,
		    struct dep_op *ref)
{
	u64 disp = m->base == X86_RIP ? (u64)m->disp + at->pc + at->in->len : (u64)m->disp;
	bool alone = ref->src == DEP_S_ZERO && ref->src2 == DEP_S_ZERO && ref->dst == DEP_S_ZERO &&
		     !m->flags && !has_mask(at);

	if (alone && dep_fits(disp - b->base)) {
		ref->code = DEP_O_REF0;
		ref->imm = (s32)(disp - b->base);
		return 0;
	}
	if (dep_fits(disp)) {
		ref->imm = (s32)disp;
		return 0;
	}
	if (ref->src != DEP_S_ZERO)
		return corrupt(b, at, "an address of an unsupported form");
	dep_add_const(b, DEP_S_TMP, disp, at->pc);
	ref->src = DEP_S_TMP;
	return 0;
}

static int add_ref(struct dep_builder *b, struct dep_site *at, u32 i)
{
	const struct x86_mem *m = &at->in->mem[i];
	struct dep_op ref = { .code = DEP_O_REF1, .size = m->size, .type = m->rw };
	u32 elem;

	ref.dst = seg_slot(m->seg);
	ref.src = ref.src2 = DEP_S_ZERO;
	if (at->ea & 1u << i) {
		ref.src = DEP_S_EA + i;
	} else {
		if (slot_of(b, m->base, &ref.src) || slot_of(b, m->index, &ref.src2))
			return corrupt(b, at, "the value of an address register is unknown");
		ref.shift = dep_log2(m->scale);
		ref.addr32 = !!(m->flags & X86_M_ADDR32);
		if (set_disp(b, at, m, &ref))
			return -EBADMSG;
		if (m->flags & (X86_M_XLAT | X86_M_BITOFF) && add_extra_offset(b, at, m, &ref))
			return -EBADMSG;
	}
	if (ref.dst != DEP_S_ZERO || ref.addr32)
		ref.code = DEP_O_REFX;
	else if (ref.src2 != DEP_S_ZERO)
		ref.code = DEP_O_REF2;
	if (has_mask(at)) {
		elem = x86_mask_elem(at->in);
		ref.code = DEP_O_MASKED;
		ref.size = m->size / elem | elem << 8 |
			   (at->in->enc == X86_EVEX ? 0 : DEP_MK_VECTOR);
	}
	dep_copy_op(b, &ref, at->pc);
	return 0;
}

static int add_string(struct dep_builder *b, struct dep_site *at, const struct adept_store *post)
{
	union dep_unusual *unusual = dep_builder_add(b, &b->unusual, sizeof(*unusual));
	const struct x86_insn *in = at->in;
	struct dep_string *s;
	struct dep_insn *insn;
	u32 i;

	if (!unusual)
		return -ENOMEM;
	s = &unusual->string;
	if (!in->nmem || in->nmem > 2 || !in->mem[0].size)
		return corrupt(b, at, "a string instruction of an unsupported form");
	s->ptr = post->arg;
	s->other = DEP_S_ZERO;
	s->nmem = in->nmem;
	s->rep = !!(in->attr & (X86_A_REP | X86_A_REPNE));
	s->addr32 = !!(in->mem[0].flags & X86_M_ADDR32);
	s->size = in->mem[0].size;
	for (i = 0; i < in->nmem; i++) {
		s->base[i] = in->mem[i].base;
		s->seg[i] = seg_slot(in->mem[i].seg);
		s->type[i] = in->mem[i].rw;
		if (s->base[i] != X86_RSI && s->base[i] != X86_RDI)
			return corrupt(b, at, "a string instruction of an unsupported form");
		if (!(b->known & X86_BIT(s->base[i])))
			return corrupt(b, at, "the value of an address register is unknown");
		if (s->base[i] != s->ptr)
			s->other = s->base[i];
	}
	if (in->nmem == 1 && s->base[0] != s->ptr)
		return corrupt(b, at, "the instruction does not use the recorded pointer register");
	insn = (struct dep_insn *)b->insn.item + b->insn.n - 1;
	insn->flags |= DEP_I_STRING;
	insn->string = (u16)(b->unusual.n - 1);
	dep_add_op(b, DEP_O_STRING, at->pc)->imm = (s32)b->unusual.n - 1;
	return 0;
}

static int add_gather(struct dep_builder *b, struct dep_site *at, const struct x86_mem *m)
{
	union dep_unusual *unusual = dep_builder_add(b, &b->unusual, sizeof(*unusual));
	const struct x86_insn *in = at->in;
	struct dep_gather *g;
	u32 widest;

	if (!unusual)
		return -ENOMEM;
	g = &unusual->gather;
	widest = m->size > in->vsib_elem ? m->size : in->vsib_elem;
	if ((m->size != 4 && m->size != 8) || (in->vsib_elem != 4 && in->vsib_elem != 8))
		return corrupt(b, at, "a gather or scatter of an unsupported form");
	if (slot_of(b, m->base, &g->base))
		return corrupt(b, at, "the value of an address register is unknown");
	g->n = (16u << (in->vl & 3)) / widest;
	g->index_size = in->vsib_elem;
	g->mask_size = in->enc == X86_EVEX ? 0 : m->size;
	g->shift = dep_log2(m->scale);
	g->seg = seg_slot(m->seg);
	g->addr32 = !!(m->flags & X86_M_ADDR32);
	g->type = m->rw;
	g->size = m->size;
	g->disp = m->disp;
	if (at->vec[0] < (u32)g->n * g->index_size ||
	    (g->mask_size ? at->vec[1] < (u32)g->n * g->mask_size : !at->kreg))
		return corrupt(b, at, "the index or mask of a gather or scatter is missing");
	dep_add_op(b, DEP_O_GATHER, at->pc)->imm = (s32)b->unusual.n - 1;
	return 0;
}

static int add_enter(struct dep_builder *b, struct dep_site *at)
{
	union dep_unusual *unusual;

	if (~b->known & (X86_BIT(X86_RSP) | X86_BIT(X86_RBP)))
		return corrupt(b, at, "the value of an address register is unknown");
	unusual = dep_builder_add(b, &b->unusual, sizeof(*unusual));
	if (!unusual)
		return -ENOMEM;
	unusual->enter = *at->in;
	dep_add_op(b, DEP_O_ENTER, at->pc)->imm = (s32)b->unusual.n - 1;
	return 0;
}

static int is_enter(const struct x86_insn *in)
{
	return in->enc == X86_LEGACY && !in->map && in->opcode == 0xc8 && in->imm >> 16 & 31;
}

int dep_add_refs(struct dep_builder *b, struct dep_site *at, const struct adept_store *post)
{
	const struct x86_insn *in = at->in;
	int err = 0;
	u32 i;

	if (in->kind == X86_STRING)
		return add_string(b, at, post);
	for (i = 0; i < in->nmem && !err; i++) {
		if (in->mem[i].flags & X86_M_VSIB)
			err = add_gather(b, at, &in->mem[i]);
		else
			err = add_ref(b, at, i);
	}
	if (!err && is_enter(in))
		err = add_enter(b, at);
	return err;
}
