// SPDX-License-Identifier: LGPL-2.1-or-later
/* Compile a fragment's instructions and stores into operations. */
#include <errno.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "program.h"

#define NEAR	(1ull << 30)

/* LIKELY_UNUSED: a jump comes before the next use of the flags, such as a tail call. */
enum result_use { USED, LIKELY_UNUSED, UNUSED };

/* The instruction that is being compiled. */
struct site {
	const struct x86_insn *in;
	u64 pc;
	u32 number;
	u8 ea;			/* a bit for each operand whose address an EA store has */
	u32 vec[2];		/* bytes of the index and mask vectors that are stored */
	enum result_use result_unused;	/* of a locked instruction: is the old value unused? */
	int kreg;
	const struct adept_run *begins;	/* the run that begins with the instruction, or NULL */
};

static struct dep_op *add_op(struct dep_builder *b, u8 code, u64 pc)
{
	static _Thread_local struct dep_op waste;	/* used when b->err is set */
	struct dep_op *op = dep_builder_add(b, &b->op, sizeof(*op));

	if (!op)
		op = &waste;
	op->code = code;
	op->src = DEP_S_ZERO;
	op->src2 = DEP_S_ZERO;
	op->dst = DEP_S_ZERO;
	op->pc = (s32)(pc - b->base);
	return op;
}

/* Add a copy of an operation at @pc. */
static void put_op(struct dep_builder *b, const struct dep_op *from, u64 pc)
{
	struct dep_op *op = add_op(b, from->code, pc);
	s32 at = op->pc;

	*op = *from;
	op->pc = at;
}

static bool fits(u64 imm)
{
	return (s64)imm == (s32)imm;
}

/* Return: the index of the value. */
static s32 add_wide(struct dep_builder *b, u64 value)
{
	u64 *wide = dep_builder_add(b, &b->wide, sizeof(*wide));

	if (wide)
		*wide = value;
	return (s32)b->wide.n - 1;
}

/*
 * Set a new base for an instruction far from the current one.  NEAR leaves room in 32 bits for
 * displacements of instructions that are near it.
 */
static void rebase(struct dep_builder *b, u64 pc)
{
	if (pc - b->base + NEAR < 2 * NEAR)
		return;
	b->base = pc;
	add_op(b, DEP_O_BASE, pc)->imm = add_wide(b, pc);
}

/* @dst = @value */
static void add_const(struct dep_builder *b, u8 dst, u64 value, u64 pc)
{
	struct dep_op *op;

	if (fits(value)) {
		op = add_op(b, DEP_O_CONST, pc);
		op->imm = (s32)value;
	} else if (fits(value - b->base)) {
		op = add_op(b, DEP_O_NEAR, pc);
		op->imm = (s32)(value - b->base);
	} else {
		op = add_op(b, DEP_O_WIDE, pc);
		op->imm = add_wide(b, value);
	}
	op->dst = dst;
}

static int corrupt(const struct dep_builder *b, const struct site *at, const char *why)
{
	return dep_fail(-EBADMSG, "fragment %u: instruction %u at %llx: %s", b->d->first_exit,
			at->number, (unsigned long long)at->pc, why);
}

static u8 seg_slot(u8 seg)
{
	return seg == X86_SEG_FS ? DEP_S_FS : seg == X86_SEG_GS ? DEP_S_GS : DEP_S_ZERO;
}

static u8 log2_of(u32 n)
{
	return n ? 31 - __builtin_clz(n) : 0;
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

static int is_branch(u8 kind)
{
	return kind != X86_NORMAL && kind != X86_STRING && kind != X86_INVALID;
}

static void note_vec(struct dep_builder *b, struct site *at, const struct adept_store *st)
{
	const struct x86_insn *in = at->in;
	u32 bytes = adept_store_bytes(st), i;
	struct dep_op *op = add_op(b, DEP_O_SKIP, at->pc);

	op->imm = (s32)(bytes / 8);
	for (i = 0; i < in->nmem && !(in->mem[i].flags & X86_M_VSIB); i++)
		;
	if (i == in->nmem && !x86_mask_elem(in))
		return;
	if (i < in->nmem && (st->arg & 31) == in->mem[i].index)
		op->dst = 0;
	else if (in->enc != X86_EVEX && (st->arg & 31) == in->vvvv)
		op->dst = 1;
	else
		return;
	op->code = DEP_O_VEC;
	at->vec[op->dst] = bytes;
}

static int is_cmpxchg(const struct x86_insn *in)
{
	return in->enc == X86_LEGACY && in->map == 1 &&
	       ((in->opcode & 0xfe) == 0xb0 || in->opcode == 0xc7);
}

/* add, sub, inc or dec */
static int is_count(const struct x86_insn *in)
{
	u32 op = in->opcode, reg = in->modrm >> 3 & 7;

	if (in->enc != X86_LEGACY || in->map)
		return 0;
	if (op >= 0xfe)
		return reg < 2;
	if (op == 0x80 || op == 0x81 || op == 0x83)
		return reg == 0 || reg == 5;
	return op < 2 || op == 0x28 || op == 0x29;
}

/*
 * Does it leave every bit of the top of the stack as it is?  Compilers and libraries use such
 * instructions as fences; which word they access does not matter (Intel, SDM volume 3, 8.2.5).
 */
static int is_fence(const struct x86_insn *in)
{
	u32 op = in->opcode, reg = in->modrm >> 3 & 7;

	if (in->enc != X86_LEGACY || in->map || op < 0x80 || op > 0x83)
		return 0;
	if (in->mem[0].base != X86_RSP || in->mem[0].index != X86_NONE)
		return 0;
	/* add, or, sub, xor; and */
	return in->imm ? reg == 4 && in->imm == -1 : reg < 2 || reg == 5 || reg == 6;
}

/* Add the operation of one store; the stores of an instruction are added in order. */
static void add_store(struct dep_builder *b, struct site *at, const struct adept_store *st)
{
	struct dep_store_info *info = dep_builder_add(b, &b->store, sizeof(*info));
	struct dep_op *op;

	if (!info)
		return;
	info->word = b->words;
	b->words += adept_store_bytes(st) / 8;
	switch (st->kind) {
	case ADEPT_ST_VEC:
		note_vec(b, at, st);
		break;
	case ADEPT_ST_KREG:
		at->kreg |= at->in->evex_k == st->arg;
		add_op(b, at->in->evex_k == st->arg ? DEP_O_KREG : DEP_O_SKIP, at->pc)->imm = 1;
		break;
	case ADEPT_ST_CHECK:
		op = add_op(b, b->known & X86_BIT(st->arg) ? DEP_O_CHECK : DEP_O_SKIP, at->pc);
		op->src = st->arg;
		op->imm = 1;
		break;
	case ADEPT_ST_BEFORE:
	case ADEPT_ST_AFTER:
		op = add_op(b, DEP_O_TIMESTAMP, at->pc);
		op->size = (st->kind == ADEPT_ST_AFTER ? DEP_TK_AFTER : 0) |
			   (is_cmpxchg(at->in) ? DEP_TK_CMPXCHG : 0) |
			   (at->result_unused == UNUSED ? DEP_TK_UNUSED : 0) |
			   (is_fence(at->in) ? DEP_TK_FENCE : 0) |
			   (at->result_unused != USED && is_count(at->in) ? DEP_TK_COUNTS : 0);
		break;
	default:
		op = add_op(b, DEP_O_LOAD, at->pc);
		op->dst = st->arg;
		if (st->kind == ADEPT_ST_FSBASE) {
			op->dst = DEP_S_FS;
		} else if (st->kind == ADEPT_ST_EA) {
			op->dst = DEP_S_EA + st->arg;
			at->ea |= 1u << st->arg;
		} else {
			b->known |= X86_BIT(st->arg);
		}
	}
	info = (struct dep_store_info *)b->store.item + b->store.n - 1;
	info->op_end = b->op.n;
	info->known = b->known;
}

/* Add an offset to an address besides base, index and displacement: of xlat and bit strings. */
static int add_extra_offset(struct dep_builder *b, struct site *at, const struct x86_mem *m,
			    struct dep_op *ref)
{
	u8 src, off = m->flags & X86_M_XLAT ? X86_RAX : at->in->f_reg;
	struct dep_op *op;

	if (slot_of(b, off, &src) || src == DEP_S_ZERO)
		return corrupt(b, at, "an offset's register is unknown");
	op = add_op(b, DEP_O_LEA, at->pc);
	op->dst = DEP_S_TMP;
	op->src = ref->src;
	op->src2 = ref->src2;
	op->shift = ref->shift;
	op->imm = ref->imm;
	op = add_op(b, m->flags & X86_M_XLAT ? DEP_O_LOW8 : DEP_O_BITOFF, at->pc);
	op->dst = DEP_S_TMP2;
	op->src = src;
	op->size = m->size;
	ref->src = DEP_S_TMP;
	ref->src2 = DEP_S_TMP2;
	ref->shift = 0;
	ref->imm = 0;
	return 0;
}

/* Is it a masked move whose mask is stored?  Older stores have none: then all elements count. */
static bool has_mask(const struct site *at)
{
	if (!x86_mask_elem(at->in))
		return false;
	return at->in->enc == X86_EVEX ? at->kreg : at->vec[1] >= at->in->mem[0].size;
}

/* Set the constant part of an address; only DEP_O_REF0 is relative to the base. */
static int set_disp(struct dep_builder *b, struct site *at, const struct x86_mem *m,
		    struct dep_op *ref)
{
	u64 disp = m->base == X86_RIP ? (u64)m->disp + at->pc + at->in->len : (u64)m->disp;
	bool alone = ref->src == DEP_S_ZERO && ref->src2 == DEP_S_ZERO && ref->dst == DEP_S_ZERO &&
		     !m->flags && !has_mask(at);

	if (alone && fits(disp - b->base)) {
		ref->code = DEP_O_REF0;
		ref->imm = (s32)(disp - b->base);
		return 0;
	}
	if (fits(disp)) {
		ref->imm = (s32)disp;
		return 0;
	}
	if (ref->src != DEP_S_ZERO)
		return corrupt(b, at, "an address of an unknown form");
	add_const(b, DEP_S_TMP, disp, at->pc);
	ref->src = DEP_S_TMP;
	return 0;
}

static int add_ref(struct dep_builder *b, struct site *at, u32 i)
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
			return corrupt(b, at, "an address register is unknown");
		ref.shift = log2_of(m->scale);
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
	put_op(b, &ref, at->pc);
	return 0;
}

static int add_string(struct dep_builder *b, struct site *at, const struct adept_store *post)
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
		return corrupt(b, at, "a string instruction of an unknown form");
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
			return corrupt(b, at, "a string instruction of an unknown form");
		if (!(b->known & X86_BIT(s->base[i])))
			return corrupt(b, at, "an address register is unknown");
		if (s->base[i] != s->ptr)
			s->other = s->base[i];
	}
	if (in->nmem == 1 && s->base[0] != s->ptr)
		return corrupt(b, at, "the wrong pointer is stored after it");
	insn = (struct dep_insn *)b->insn.item + b->insn.n - 1;
	insn->flags |= DEP_I_STRING;
	insn->string = (u16)(b->unusual.n - 1);
	add_op(b, DEP_O_STRING, at->pc)->imm = (s32)b->unusual.n - 1;
	return 0;
}

static int add_gather(struct dep_builder *b, struct site *at, const struct x86_mem *m)
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
		return corrupt(b, at, "a gather of an unknown form");
	if (slot_of(b, m->base, &g->base))
		return corrupt(b, at, "an address register is unknown");
	g->n = (16u << (in->vl & 3)) / widest;
	g->index_size = in->vsib_elem;
	g->mask_size = in->enc == X86_EVEX ? 0 : m->size;
	g->shift = log2_of(m->scale);
	g->seg = seg_slot(m->seg);
	g->addr32 = !!(m->flags & X86_M_ADDR32);
	g->type = m->rw;
	g->size = m->size;
	g->disp = m->disp;
	if (at->vec[0] < (u32)g->n * g->index_size ||
	    (g->mask_size ? at->vec[1] < (u32)g->n * g->mask_size : !at->kreg))
		return corrupt(b, at, "index or mask of a gather is missing");
	add_op(b, DEP_O_GATHER, at->pc)->imm = (s32)b->unusual.n - 1;
	return 0;
}

static int add_enter(struct dep_builder *b, struct site *at)
{
	union dep_unusual *unusual;

	if (~b->known & (X86_BIT(X86_RSP) | X86_BIT(X86_RBP)))
		return corrupt(b, at, "an address register is unknown");
	unusual = dep_builder_add(b, &b->unusual, sizeof(*unusual));
	if (!unusual)
		return -ENOMEM;
	unusual->enter = *at->in;
	add_op(b, DEP_O_ENTER, at->pc)->imm = (s32)b->unusual.n - 1;
	return 0;
}

static int is_enter(const struct x86_insn *in)
{
	return in->enc == X86_LEGACY && !in->map && in->opcode == 0xc8 && in->imm >> 16 & 31;
}

static int add_refs(struct dep_builder *b, struct site *at, const struct adept_store *post)
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

/* Add a simple operation instead of the derivation.  Return: 0 if none is equivalent. */
static int fold(struct dep_builder *b, const struct x86_dop *d, u64 pc)
{
	struct dep_op o = { .dst = d->dst, .src = d->src, .src2 = DEP_S_ZERO };
	u64 imm = (u64)d->imm;

	if (d->code == X86_D_CONST && d->size >= 4) {
		add_const(b, d->dst, d->size == 4 ? (u32)imm : imm, pc);
		return 1;
	}
	if (d->size != 8)
		return 0;
	switch (d->code) {
	case X86_D_MOV:
		o.code = DEP_O_ADD;
		imm = 0;
		break;
	case X86_D_ADD:
	case X86_D_SUB:
		if (d->src2 != X86_NONE)
			return 0;
		o.code = DEP_O_ADD;
		if (d->code == X86_D_SUB)
			imm = -imm;
		break;
	case X86_D_LEA:
		o.code = DEP_O_LEA;
		if (d->src == X86_NONE)
			o.src = DEP_S_ZERO;
		if (d->src2 != X86_NONE)
			o.src2 = d->src2;
		o.shift = log2_of(d->scale);
		break;
	default:
		return 0;
	}
	if (!fits(imm))
		return 0;
	o.imm = (s32)imm;
	put_op(b, &o, pc);
	return 1;
}

static int add_derivation(struct dep_builder *b, struct site *at)
{
	struct x86_dop dops[X86_MAX_DOPS], *copy;
	unsigned int n = 0, i;
	struct dep_op *op;

	b->known = x86_derive(at->in, at->pc, b->known, dops, &n);
	if (!n || (n == 1 && fold(b, dops, at->pc)))
		return 0;
	op = add_op(b, DEP_O_DERIVE, at->pc);
	op->imm = (s32)b->dop.n;
	op->size = n;
	for (i = 0; i < n; i++) {
		copy = dep_builder_add(b, &b->dop, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		*copy = dops[i];
	}
	return 0;
}

/* Comes before the instruction changes rsp: a derived rsp can be missing in an exit's mask. */
static void add_call(struct dep_builder *b, const struct site *at)
{
	const struct x86_insn *in = at->in;
	struct dep_op *op;

	if (in->kind == X86_JMP || in->kind == X86_JMP_IND) {
		op = add_op(b, DEP_O_CALL, at->pc);
		op->size = DEP_CL_JUMP;
		op->src = b->known & X86_BIT(X86_RSP) ? X86_RSP : DEP_S_ZERO;
	} else if (in->kind == X86_CALL || in->kind == X86_CALL_IND || in->kind == X86_RET) {
		op = add_op(b, DEP_O_CALL, at->pc);
		op->size = in->kind == X86_RET ? DEP_CL_RETURN : DEP_CL_CALL;
		op->src = X86_RSP;
		op->imm = in->kind == X86_RET ? 8 + (s32)in->imm : -8;
	}
}

/* Add hooked functions at the address where a run begins; a return comes before an entry. */
static void add_functions(struct dep_builder *b, const struct site *at)
{
	const struct adept_run *run = at->begins;
	struct dep_op *op;
	u32 i;

	if (run->returns && b->known & X86_BIT(X86_RSP)) {
		op = add_op(b, DEP_O_FUNCTION, at->pc);
		op->size = 1;
		op->imm = b->known & X86_BIT(X86_RAX) ? 1 << 16 : 0;
	}
	if (run->function && b->known & X86_BIT(X86_RSP)) {
		op = add_op(b, DEP_O_FUNCTION, at->pc);
		op->imm = run->function;
		for (i = 0; i < dep_function_args(run->function); i++)
			if (b->known & X86_BIT(dep_function_regs[i]))
				op->imm |= 1 << (16 + i);
	}
}

static int add_insn(struct dep_builder *b, struct site *at, const struct adept_store *post)
{
	struct dep_insn *insn = dep_builder_add(b, &b->insn, sizeof(*insn));
	const struct x86_insn *in = at->in;
	struct dep_op *op;
	int err;

	if (!insn)
		return -ENOMEM;
	insn->pc = at->pc;
	insn->gpr_addr = in->gpr_addr;
	insn->gpr_write = in->gpr_write;
	if (in->kind == X86_JCC || in->kind == X86_LOOP)
		insn->flags |= DEP_I_COND;
	if (in->kind == X86_JMP_IND || in->kind == X86_CALL_IND || in->kind == X86_RET)
		insn->flags |= DEP_I_INDIRECT;
	if (b->next_is_block) {
		insn->flags |= DEP_I_BLOCK;
		op = add_op(b, DEP_O_BLOCK, at->pc);
		op->size = at->number;
	}
	b->next_is_block = is_branch(in->kind);
	if (at->begins)
		add_functions(b, at);
	err = add_refs(b, at, post);
	if (!err)
		add_call(b, at);
	if (!err)
		err = add_derivation(b, at);
	if (err)
		return err;
	insn = (struct dep_insn *)b->insn.item + b->insn.n - 1;
	insn->op_end = (u16)b->op.n;	/* dep_program_make() refuses more operations */
	insn->known = b->known;
	return 0;
}

/* Set the lengths of all blocks, now that their ends are known. */
static void close_blocks(struct dep_builder *b)
{
	struct dep_op *op = b->op.item;
	u32 end = b->d->ninsns;
	size_t i = b->op.n;

	while (i--)
		if (op[i].code == DEP_O_BLOCK) {
			op[i].imm = (s32)(end - op[i].size);
			end = op[i].size;
		}
}

/*
 * Is the old value of a locked instruction unused: @in writes no register, and its flags are not
 * read before they are overwritten?  The @size bytes at @code follow it.  Calls and returns do not
 * pass flags on.
 */
static enum result_use use_of_result(const struct x86_insn *in, const u8 *code, u32 size)
{
	u16 left = in->flags_write;
	struct x86_insn next;
	int len;

	if (in->gpr_write)
		return USED;
	while (left) {
		len = x86_decode(&next, code, size);
		if (len <= 0)
			return USED;
		if (next.kind == X86_CALL || next.kind == X86_CALL_IND || next.kind == X86_RET)
			return UNUSED;
		if (next.kind == X86_JMP || next.kind == X86_JMP_IND)
			return LIKELY_UNUSED;
		if (next.kind != X86_NORMAL || next.flags_read & left)
			return USED;
		left &= ~next.flags_kill;
		code += len;
		size -= (u32)len;
	}
	return UNUSED;
}

int dep_compile(struct dep_builder *b)
{
	const struct adept_store *st = dep_desc_stores(b->d), *end = st + b->d->nstores;
	const struct adept_run *run = dep_desc_runs(b->d);
	const u8 *code = dep_desc_code(b->d);
	struct dep_desc_at done = { 0 };
	struct x86_insn in;
	u32 i, left = 0;
	struct site at;
	u64 pc = 0;
	int err;

	b->known = b->d->entry_mask;
	b->next_is_block = 1;
	b->base = b->first_base = b->d->nruns ? run->pc : 0;
	for (i = 0; i < b->d->ninsns; i++) {
		at.begins = NULL;
		if (!left) {
			at.begins = run;
			pc = run->pc;
			left = run++->ninsns;
		}
		err = dep_desc_insn(b->d, &done, &in);
		if (err)
			return err;
		at = (struct site){ .in = &in, .pc = pc, .number = i, .begins = at.begins };
		rebase(b, pc);
		if (in.attr & X86_A_LOCK)
			at.result_unused =
				use_of_result(&in, code + done.code, b->d->code_len - done.code);
		for (; st < end && st->insn == i && !dep_store_is_post(st); st++)
			add_store(b, &at, st);
		err = add_insn(b, &at, st);
		if (err)
			return err;
		for (; st < end && st->insn == i; st++)
			add_store(b, &at, st);
		if (b->err)
			return b->err;
		pc += in.len;
		left--;
	}
	close_blocks(b);
	return 0;
}
