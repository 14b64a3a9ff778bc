// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Machine code of one record; regs.h lists the registers.
 *
 * References that are a known, small distance apart are looked up together, whether other
 * references are executed between them or not.
 */
#include "libdep/recover/filter/filtered_program.h"
#include "internal.h"
#include "jit.h"
#include "regs.h"
#include "libdep/recover/program/symbolic_addr.h"

#define MAX_REFS	256u
#define MAX_LOOKS	2u

_Static_assert(DEP_ACCESS_SET_CACHE == 1 << 10,
	       "the shifts in this file assume 1024 entries in the access set's cache");
_Static_assert(DEP_ACCESS_SET_PAGE == 4096 && DEP_ACCESS_SET_AT_ONCE <= 57,
	       "one 64-bit load must cover a lookup at any bit offset");
_Static_assert(DEP_FILTER_CODES <= 64, "dep_jit_look.origin must hold every origin");

struct ref {
	u32 filtered;		/* index of the reference in the filtered program */
	u64 pc;
	struct dep_sum_place at;
	const struct ref *with;	/* first reference of the group that is looked up together */
	/* only in the first of a group: range of the group, relative to @at, and its lookup */
	s64 low, high;
	struct dep_jit_look look;
	const u8 *data;		/* copy of @look in front of the machine code */
	/* jumps to the slow path, to be filled in: page not in the cache; missing bits */
	u8 *no_entry, *jump[MAX_LOOKS];
	u32 njumps;
	const u8 *after;	/* code after the lookup, to which the slow path returns */
	u32 left;		/* dep_jit_left(): where the interpreter continues, if needed */
	u32 stretch;		/* code.stretch at the reference; equal for all in a group */
};

struct code {
	struct emit *e;
	const struct dep_jit_exits *exits;
	const struct dep_program *p;
	const struct dep_exit_info *x;
	struct ref ref[MAX_REFS];
	u32 nrefs, next_ref;
	u32 stretch;		/* number of operations so far that call the interpreter */
	u64 base;		/* current base, to which dep_op.pc and dep_op.imm are relative */
	u32 words;		/* number of values of the record consumed so far */
	s32 last;		/* offset from rbx of the values that this exit stored last */
	u32 filtered;		/* index of the current operation in the filtered program */
};

static void load(struct emit *e, u8 reg, u8 slot)
{
	jit_mem(e, 1, 0x8b, reg, X86_RBX, jit_slot(slot));
}

static void store(struct emit *e, u8 reg, u8 slot)
{
	jit_mem(e, 1, 0x89, reg, X86_RBX, jit_slot(slot));
}

static void add_imm(struct emit *e, u8 reg, u64 imm)
{
	if (!imm)
		return;
	if (fits32((s64)imm)) {
		jit_imm(e, 1, OP_ADD, reg, (s32)imm);
		return;
	}
	emit_mov_imm64(e, X86_R8, imm);
	jit_reg(e, 1, 0x01, X86_R8, reg);
}

static void constant(struct emit *e, u8 slot, u64 value)
{
	emit_mov_imm64(e, X86_RAX, value);
	store(e, X86_RAX, slot);
}

static bool is_left(const struct code *c, u32 op)
{
	return c->filtered < c->x->filtered_end && c->p->filtered[c->filtered].of == op;
}

/* True if the code calls the interpreter for this operation, which consumes no values. */
static bool is_called(const struct dep_op *op)
{
	return op->code == DEP_O_FUNCTION || op->code == DEP_O_MASKED;
}

/* True if the code must return to the interpreter for this operation and the rest of the record. */
static bool is_unusual(const struct dep_program *p, const struct dep_op *op)
{
	if (dep_op_is_ref(op->code))
		return op->addr32 || op->size - 1u >= DEP_ACCESS_SET_AT_ONCE;
	if (op->code == DEP_O_DERIVE)
		return op->size != 1 || !dep_jit_derives(&p->dop[op->imm]);
	if (is_called(op))
		return false;
	return dep_filtered_ends(op->code) || op->code == DEP_O_CHECK || op->code == DEP_O_BITOFF;
}

/* Add reference @s to the group of @r, if the group still fits into one lookup. */
static void join(struct code *c, struct ref *r, struct ref *s)
{
	const struct dep_filtered_op *filtered = c->p->filtered;
	s64 from = (s64)(s->at.plus - r->at.plus), to = from + filtered[s->filtered].size, low;

	if (s->with || s->stretch != r->stretch || !dep_symbolic_addrs_near(&r->at, &s->at) ||
	    from < -(s64)DEP_ACCESS_SET_AT_ONCE || from > (s64)DEP_ACCESS_SET_AT_ONCE ||
	    filtered[s->filtered].dst != filtered[r->filtered].dst)
		return;
	low = from < r->low ? from : r->low;
	to = to > r->high ? to : r->high;
	if (to - low > (s64)DEP_ACCESS_SET_AT_ONCE)
		return;
	r->low = low;
	r->high = to;
	s->with = r;
}

static void join_refs(struct code *c)
{
	struct ref *end = c->ref + c->nrefs, *r, *s;
	const struct dep_filtered_op *op;
	u64 bits;

	for (r = c->ref; r < end; r++) {
		if (r->with)
			continue;
		r->with = r;
		r->high = c->p->filtered[r->filtered].size;
		for (s = r + 1; s < end; s++)
			join(c, r, s);
		for (s = r; s < end; s++) {
			if (s->with != r)
				continue;
			op = &c->p->filtered[s->filtered];
			bits = ~0ull >> (64 - op->size);
			bits <<= s->at.plus - r->at.plus - (u64)r->low;
			if (op->write)
				r->look.wrote |= bits;
			else
				r->look.read |= bits;
		}
		/* A written byte counts as read, too. */
		r->look.read &= ~r->look.wrote;
	}
}

/* Collect the references up to the first operation that must be interpreted, or to the exit. */
static void find_refs(struct code *c)
{
	struct dep_symbolic_addrs sums;
	struct ref *r;
	u32 i;

	dep_symbolic_addrs_init(&sums, c->p);
	for (i = 0; i < c->x->op_end && c->nrefs < MAX_REFS; i++) {
		const struct dep_op *op = &c->p->op[i];
		bool left = is_left(c, i);

		if (left && is_unusual(c->p, op))
			break;
		if (left && dep_op_is_ref(op->code)) {
			r = &c->ref[c->nrefs++];
			*r = (struct ref){
				.filtered = c->filtered, .at = dep_symbolic_addrs_word(&sums, op),
				.pc = sums.base + (u64)(s64)op->pc, .look.origin = op->origin,
				.stretch = c->stretch,
			};
		}
		c->stretch += left && is_called(op);
		dep_symbolic_addrs_follow(&sums, c->p, op);
		c->filtered += left;
	}
	c->filtered = 0;
	join_refs(c);
}

/* rax = the lowest address of the references that are looked up together with @r */
static void address(struct code *c, const struct ref *r, const struct dep_op *op)
{
	u64 disp = (u64)(s64)op->imm + (u64)r->low;
	struct emit *e = c->e;

	if (op->code == DEP_O_REF0) {
		emit_mov_imm64(e, X86_RAX, c->base + disp);
		return;
	}
	load(e, X86_RAX, op->src);
	if (op->code == DEP_O_REF2 || (op->code == DEP_O_REFX && op->src2 != DEP_S_ZERO)) {
		load(e, X86_RCX, op->src2);
		jit_index(e, 1, 0x8d, X86_RAX, X86_RAX, X86_RCX, op->shift, 0);
	}
	if (op->code == DEP_O_REFX)
		jit_mem(e, 1, 0x03, X86_RAX, X86_RBX, jit_slot(op->dst));
	add_imm(e, X86_RAX, disp);
}

/* Emit a jump that is taken if not all @bits are set in rdi.  Return: the jump, to be filled in. */
static u8 *if_not_all(struct emit *e, u64 bits)
{
	jit_reg(e, 1, 0xf7, 2, X86_RDI);	/* not rdi */
	if (bits <= 0x7fffffff) {
		jit_reg(e, 0, 0xf7, 0, X86_RDI);	/* test edi, imm32 */
		emit32(e, (u32)bits);
	} else {
		emit_mov_imm64(e, X86_R8, bits);
		jit_reg(e, 1, 0x85, X86_R8, X86_RDI);
	}
	return jit_jump_if(e, CC_NE);
}

/* @to = the bits of rax that @bits selects (see BITS()); register @constant has @bits for bextr */
static void extract(struct code *c, u8 to, u32 bits, u8 constant)
{
	if (c->exits->bmi) {
		jit_vex_f7(c->e, 0, JIT_VEX_NONE, to, X86_RAX, 0xff, 0, constant);
		return;
	}
	jit_reg(c->e, 0, 0x89, X86_RAX, to);
	jit_shift(c->e, 0, 5, to, (u8)bits);
	jit_imm(c->e, 0, OP_AND, to, (1 << (bits >> 8)) - 1);
}

/* rcx = page number of the address rax */
static void page_number(struct code *c)
{
	if (c->exits->bmi) {
		jit_vex_f7(c->e, 1, JIT_VEX_F2, X86_RCX, X86_RAX, 0xff, 0, X86_R9);
		return;
	}
	jit_reg(c->e, 1, 0x89, X86_RAX, X86_RCX);
	jit_shift(c->e, 1, 5, X86_RCX, NUMBER_SHIFT);
}

/* rdi = word rdx of bitmap @map in page rsi, shifted right so that bit 0 is the byte at rax */
static void word(struct code *c, s32 map)
{
	if (c->exits->bmi) {
		jit_vex_f7(c->e, 1, JIT_VEX_F2, X86_RDI, X86_RSI, X86_RDX, map, X86_RAX);
		return;
	}
	jit_index(c->e, 1, 0x8b, X86_RDI, X86_RSI, X86_RDX, 3, map);
	jit_reg(c->e, 0, 0x89, X86_RAX, X86_RCX);
	jit_reg(c->e, 1, 0xd3, 5, X86_RDI);	/* shr rdi, cl */
}

#define READ	((s32)offsetof(struct dep_access_page, read))
#define WROTE	((s32)offsetof(struct dep_access_page, wrote))

static void look(struct code *c, struct ref *r, s32 map, u64 bits)
{
	if (!bits)
		return;
	word(c, map);
	r->jump[r->njumps++] = if_not_all(c->e, bits);
}

/*
 * Look up a group of references in the access set, as dep_access_set_has() does.  This fast path
 * reads only one word of each bitmap; if bits are in the next word, see emit_after().
 */
static void reference(struct code *c, const struct dep_op *op)
{
	struct ref *r = &c->ref[c->next_ref++];
	s32 tag = IN_FILTER(tag) + op->origin % DEP_FILTER_CODES * 8;
	struct emit *e = c->e;

	if (r->with != r)
		return;
	address(c, r, op);
	extract(c, X86_RSI, WAY, X86_R10);
	page_number(c);
	jit_mem(e, 1, 0x0b, X86_RCX, X86_R14, tag);
	jit_index(e, 1, 0x3b, X86_RCX, X86_R14, X86_RSI, 3, IN_FILTER(seen.key[0]));
	r->no_entry = jit_jump_if(e, CC_NE);
	jit_index(e, 1, 0x8b, X86_RSI, X86_R14, X86_RSI, 3, IN_FILTER(seen.page[0]));
	extract(c, X86_RDX, WORD, X86_R11);
	look(c, r, WROTE, r->look.wrote);
	look(c, r, READ, r->look.read);
	r->after = e->p;
	r->left = dep_jit_left(c->filtered, c->words);
}

/* ---- operations ---- */

/* rax = the next value; the column has its difference to the value that this exit stored last */
static void value(struct code *c)
{
	s32 word = (s32)c->words++ * 8;

	jit_mem(c->e, 1, 0x8b, X86_RAX, X86_R12, word);
	jit_mem(c->e, 1, 0x03, X86_RAX, X86_RBX, c->last + word);
	jit_mem(c->e, 1, 0x89, X86_RAX, X86_RBX, c->last + word);
}

/* Skip @n values, but update the last values, to which later differences are relative. */
static void skip_values(struct code *c, u64 n)
{
	s32 word;

	while (n-- && !c->e->overflow) {
		word = (s32)c->words++ * 8;
		jit_mem(c->e, 1, 0x8b, X86_RAX, X86_R12, word);
		jit_mem(c->e, 1, 0x01, X86_RAX, X86_RBX, c->last + word);
	}
}

/* Replace the next @n differences in the column by values; rax = the address of the first value */
static void vector(struct code *c, u64 n)
{
	s32 at = (s32)c->words * 8;

	for (; n-- && !c->e->overflow;) {
		value(c);
		jit_mem(c->e, 1, 0x89, X86_RAX, X86_R12, (s32)(c->words - 1) * 8);
	}
	jit_mem(c->e, 1, 0x8d, X86_RAX, X86_R12, at);
}

static void operation(struct code *c, const struct dep_op *op)
{
	struct emit *e = c->e;

	switch ((enum dep_op_code)op->code) {
	case DEP_O_LOAD:
		value(c);
		store(e, X86_RAX, op->dst);
		break;
	case DEP_O_SKIP:
		skip_values(c, (u32)op->imm);
		break;
	case DEP_O_VEC:
		vector(c, (u32)op->imm);
		jit_mem(e, 1, 0x89, X86_RAX, X86_RBX,
			op->dst & 1 ? IN_RUN(vec[1]) : IN_RUN(vec[0]));
		break;
	case DEP_O_KREG:
		value(c);
		jit_mem(e, 1, 0x89, X86_RAX, X86_RBX, IN_RUN(kreg));
		break;
	case DEP_O_CONST:
		constant(e, op->dst, (u64)(s64)op->imm);
		break;
	case DEP_O_NEAR:
		constant(e, op->dst, c->base + (u64)(s64)op->imm);
		break;
	case DEP_O_WIDE:
		constant(e, op->dst, c->p->wide[op->imm]);
		break;
	case DEP_O_BASE:
		break;
	case DEP_O_ADD:
		load(e, X86_RAX, op->src);
		add_imm(e, X86_RAX, (u64)(s64)op->imm);
		store(e, X86_RAX, op->dst);
		break;
	case DEP_O_LEA:
		load(e, X86_RAX, op->src);
		load(e, X86_RCX, op->src2);
		jit_index(e, 1, 0x8d, X86_RAX, X86_RAX, X86_RCX, op->shift, 0);
		add_imm(e, X86_RAX, (u64)(s64)op->imm);
		store(e, X86_RAX, op->dst);
		break;
	case DEP_O_LOW8:
		jit_mem(e, 0, 0x0fb6, X86_RAX, X86_RBX, jit_slot(op->src));
		store(e, X86_RAX, op->dst);
		break;
	case DEP_O_DERIVE:
		dep_jit_derive(e, &c->p->dop[op->imm]);
		break;
	default:
		reference(c, op);
		break;
	}
}

/* Emit a call of the interpreter for operation @op. */
static void call_out(struct code *c, u32 op)
{
	struct emit *e = c->e;
	u8 *over;

	emit_mov_imm64(e, X86_RSI, (u64)c->p);
	emit_mov_imm64(e, X86_RDX, op);
	emit_branch(e, 0xe8, c->exits->one);
	jit_reg(e, 0, 0x85, X86_RAX, X86_RAX);
	over = jit_jump_if(e, CC_E);
	emit_mov_imm64(e, X86_RAX, dep_jit_left(c->filtered + 1, c->words));
	jit_branch(e, c->exits->middle);
	if (!e->overflow)
		put_rel32(over, e->p);
}

/* ---- begin and end of a record ---- */

/*
 * Begin a record.  Return to the interpreter if values or registers are missing, or if it must
 * check for a wait loop.  Add the record's counts.
 */
static void begin(struct code *c, const u8 *counts)
{
	const struct dep_exit_info *x = c->x;
	struct emit *e = c->e;
	u8 xmm;

	jit_mem(e, 1, 0x8d, X86_RAX, X86_R12, x->words * 8);
	jit_mem(e, 1, 0x3b, X86_RAX, X86_RBX, IN_RUN(state.value_end));
	jit_branch_if(e, CC_A, c->exits->record);
	if (c->p->entry_mask) {
		/* test dword [state.unknown], entry_mask */
		jit_mem(e, 0, 0xf7, 0, X86_RBX, IN_RUN(state.unknown));
		emit32(e, c->p->entry_mask);
		jit_branch_if(e, CC_NE, c->exits->record);
	}
	if (x->count.writes) {
		jit_mem(e, 0, 0xc7, 0, X86_R14, IN_FILTER(quiet));
		emit32(e, (u32)DEP_FILTER_QUIET);
		jit_mem(e, 0, 0xc7, 0, X86_R14, IN_FILTER(reads));
		emit32(e, 0);
	} else {
		jit_mem(e, 0, 0xff, 0, X86_R14, IN_FILTER(quiet));	/* inc dword [quiet] */
		jit_branch_if(e, CC_E, c->exits->quiet);
	}
	/* paddd xmm, [rip + ..]: add the counts of this record */
	for (xmm = 0; xmm < 2; xmm++) {
		emit8(e, 0x66);
		emit8(e, 0x0f);
		emit8(e, 0xfe);
		emit8(e, (u8)(0x05 | xmm << 3));
		emit32(e, 0);
		if (!e->overflow)
			put_rel32(e->p - 4, counts + 16 * xmm);
	}
}

/* Jump to the code of the next record. */
static void end(struct code *c)
{
	const struct dep_exit_info *x = c->x;
	struct emit *e = c->e;

	if (x->words)
		jit_imm(e, 1, OP_ADD, X86_R12, x->words * 8);
	/* mov dword [state.unknown], ~known */
	jit_mem(e, 0, 0xc7, 0, X86_RBX, IN_RUN(state.unknown));
	emit32(e, (u16)~x->known);
	jit_mem(e, 1, 0x3b, X86_R13, X86_RBX, IN_RUN(state.control_end));
	jit_branch_if(e, CC_AE, c->exits->end);
	jit_mem(e, 0, 0x8b, X86_RAX, X86_R13, 0);
	jit_imm(e, 1, OP_ADD, X86_R13, 4);
	jit_imm(e, 0, OP_CMP, X86_RAX, (s32)DEP_JIT_IDS);
	jit_branch_if(e, CC_AE, c->exits->record);
	jit_index(e, 0, 0x8b, X86_RAX, X86_RBP, X86_RAX, 2, 0);
	/* A record without code has offset 0, where shared code returns to C. */
	jit_reg(e, 1, 0x01, X86_R15, X86_RAX);
	jit_reg(e, 0, 0xff, 4, X86_RAX);	/* jmp rax */
}

/*
 * Emit a jump that is taken if not all @bits are set in bitmap @map of page rsi, from bit cl of
 * byte rdx on.  Return: the jump, to be filled in, or NULL if @bits is 0.
 */
static u8 *look_after(struct emit *e, s32 map, u64 bits)
{
	if (!bits)
		return NULL;
	jit_index(e, 1, 0x8b, X86_RDI, X86_RSI, X86_RDX, 0, map);
	jit_reg(e, 1, 0xd3, 5, X86_RDI);	/* shr rdi, cl */
	return if_not_all(e, bits);
}

static void come_here(struct emit *e, u8 *jump)
{
	if (jump && !e->overflow)
		put_rel32(jump, e->p);
}

/* Slow path if bits are missing in one word: look up 64 bits at any byte offset instead. */
static void emit_after(struct emit *e, const struct ref *r)
{
	u8 *no[2];

	jit_reg(e, 0, 0x89, X86_RAX, X86_RDX);
	jit_imm(e, 0, OP_AND, X86_RDX, DEP_ACCESS_SET_PAGE - 1);
	jit_shift(e, 0, 5, X86_RDX, 3);
	jit_reg(e, 0, 0x89, X86_RAX, X86_RCX);
	jit_imm(e, 0, OP_AND, X86_RCX, 7);
	no[0] = look_after(e, WROTE, r->look.wrote);
	no[1] = look_after(e, READ, r->look.read);
	jit_branch(e, r->after);
	come_here(e, no[0]);
	come_here(e, no[1]);
}

/* Slow path of a lookup: call dep_jit_call_interp(). */
static void emit_slow(struct emit *e, const struct dep_jit_exits *exits, const struct ref *r)
{
	u32 i;

	for (i = 0; i < r->njumps; i++)
		come_here(e, r->jump[i]);
	if (r->high - r->low > 1)
		emit_after(e, r);
	come_here(e, r->no_entry);
	/* lea rsi, [rip + ..]: the address of r->data */
	jit_opcode(e, 1, 0x8d, X86_RSI, 0, 0);
	emit8(e, 0x05 | X86_RSI << 3);
	emit32(e, 0);
	if (!e->overflow)
		put_rel32(e->p - 4, r->data);
	emit_branch(e, 0xe8, exits->slow);
	jit_reg(e, 0, 0x85, X86_RAX, X86_RAX);
	jit_branch_if(e, CC_E, r->after);
	emit_mov_imm64(e, X86_RAX, r->left);
	jit_branch(e, exits->middle);
}

/* Put the dep_jit_look of all groups in front of the code. */
static void emit_looks(struct code *c)
{
	struct ref *r;

	for (r = c->ref; r < c->ref + c->nrefs; r++) {
		if (r->with != r)
			continue;
		r->look.pc = r->pc;
		while (!c->e->overflow && (u64)c->e->p & 7)
			emit8(c->e, 0);
		r->data = c->e->p;
		emit_bytes(c->e, (const u8 *)&r->look, sizeof(r->look));
	}
}

static const u8 *emit_counts(struct code *c)
{
	const struct dep_exit_info *x = c->x;
	const u32 count[DEP_JIT_COUNTS] = {
		[DEP_JIT_REFS] = x->count.refs, [DEP_JIT_READS] = x->count.reads,
		[DEP_JIT_WRITES] = x->count.writes, [DEP_JIT_BLOCKS] = x->count.blocks,
		[DEP_JIT_INSNS] = x->ninsns, [DEP_JIT_WORDS] = x->words,
		[DEP_JIT_RECORDS] = 1,
	};
	const u8 *at;
	u32 i;

	while (!c->e->overflow && (u64)c->e->p & 15)
		emit8(c->e, 0);
	at = c->e->p;
	for (i = 0; i < DEP_JIT_COUNTS; i++)
		emit32(c->e, count[i]);
	return at;
}

const u8 *dep_jit_emit(struct emit *e, const struct dep_jit_exits *exits,
		       const struct dep_program *p, const struct dep_exit_info *x)
{
	const u8 *counts, *from;
	struct code c;
	u32 i;

	/* These are the limits of what dep_jit_left() can encode. */
	if (x->filtered_end >= UINT16_MAX || x->words > DEP_DELTA_RUN)
		return NULL;
	/* Do not clear the array of references, which is large. */
	c.e = e;
	c.exits = exits;
	c.p = p;
	c.x = x;
	c.base = p->base;
	c.nrefs = c.next_ref = c.stretch = c.words = c.filtered = 0;
	c.last = IN_RUN(last[0]) + (s32)dep_delta_slot(p->d->first_exit + (u32)(x - p->exit)) * 8;
	find_refs(&c);
	emit_looks(&c);
	counts = emit_counts(&c);
	from = e->p;
	begin(&c, counts);
	for (i = 0; i < x->op_end; i++) {
		const struct dep_op *op = &p->op[i];

		if (op->code == DEP_O_BASE)
			c.base = p->wide[op->imm];
		if (!is_left(&c, i))
			continue;
		if (is_unusual(p, op) || (dep_op_is_ref(op->code) && c.next_ref == c.nrefs))
			break;
		if (is_called(op))
			call_out(&c, i);
		else
			operation(&c, op);
		c.filtered++;
	}
	if (i < x->op_end && !c.filtered)
		return NULL;
	if (i < x->op_end) {
		emit_mov_imm64(e, X86_RAX, dep_jit_left(c.filtered, c.words));
		jit_branch(e, exits->middle);
	} else {
		end(&c);
	}
	for (i = 0; i < c.next_ref; i++)
		if (c.ref[i].with == &c.ref[i])
			emit_slow(e, exits, &c.ref[i]);
	return from;
}
