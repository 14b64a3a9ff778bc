// SPDX-License-Identifier: LGPL-2.1-or-later
/* Compile a fragment's instructions and stores into operations. */
#include <errno.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "compile.h"

static int is_branch(u8 kind)
{
	return kind != X86_NORMAL && kind != X86_STRING && kind != X86_INVALID;
}

static void note_vec(struct dep_builder *b, struct dep_site *at, const struct adept_store *st)
{
	const struct x86_insn *in = at->in;
	u32 bytes = adept_store_bytes(st), i;
	struct dep_op *op = dep_add_op(b, DEP_O_SKIP, at->pc);

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

/* True for add, sub, inc and dec: with a lock prefix, they can increment an atomic counter. */
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
 * True if a locked instruction leaves the top of the stack unchanged, such as lock or $0, (%rsp).
 * Compilers and libraries use such instructions as fences; the word that they access does not
 * matter (Intel, SDM volume 3, 8.2.5).
 */
static int is_fence(const struct x86_insn *in)
{
	u32 op = in->opcode, reg = in->modrm >> 3 & 7;

	if (in->enc != X86_LEGACY || in->map || op < 0x80 || op > 0x83)
		return 0;
	if (in->mem[0].base != X86_RSP || in->mem[0].index != X86_NONE)
		return 0;
	/* and with -1; or add, or, sub, xor with 0 */
	return in->imm ? reg == 4 && in->imm == -1 : reg < 2 || reg == 5 || reg == 6;
}

/* Add the operation that reads the value of one store.  Call it for all stores in order. */
static void add_store(struct dep_builder *b, struct dep_site *at, const struct adept_store *st)
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
		dep_add_op(b, at->in->evex_k == st->arg ? DEP_O_KREG : DEP_O_SKIP, at->pc)->imm = 1;
		break;
	case ADEPT_ST_CHECK:
		op = dep_add_op(b, b->known & X86_BIT(st->arg) ? DEP_O_CHECK : DEP_O_SKIP, at->pc);
		op->src = st->arg;
		op->imm = 1;
		break;
	case ADEPT_ST_BEFORE:
	case ADEPT_ST_AFTER:
		op = dep_add_op(b, DEP_O_TIMESTAMP, at->pc);
		op->size = (st->kind == ADEPT_ST_AFTER ? DEP_TK_AFTER : 0) |
			   (is_cmpxchg(at->in) ? DEP_TK_CMPXCHG : 0) |
			   (at->result_unused == DEP_UNUSED ? DEP_TK_UNUSED : 0) |
			   (is_fence(at->in) ? DEP_TK_FENCE : 0) |
			   (at->result_unused != DEP_USED && is_count(at->in) ? DEP_TK_COUNTS : 0);
		break;
	default:
		op = dep_add_op(b, DEP_O_LOAD, at->pc);
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

/* Replace a register derivation by a simple operation.  Return: 0 if none is equivalent, else 1. */
static int fold(struct dep_builder *b, const struct x86_dop *d, u64 pc)
{
	struct dep_op o = { .dst = d->dst, .src = d->src, .src2 = DEP_S_ZERO };
	u64 imm = (u64)d->imm;

	if (d->code == X86_D_CONST && d->size >= 4) {
		dep_add_const(b, d->dst, d->size == 4 ? (u32)imm : imm, pc);
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
		o.shift = dep_log2(d->scale);
		break;
	default:
		return 0;
	}
	if (!dep_fits(imm))
		return 0;
	o.imm = (s32)imm;
	dep_copy_op(b, &o, pc);
	return 1;
}

static int add_derivation(struct dep_builder *b, struct dep_site *at)
{
	struct x86_dop dops[X86_MAX_DOPS], *copy;
	unsigned int n = 0, i;
	struct dep_op *op;

	b->known = x86_derive(at->in, at->pc, b->known, dops, &n);
	if (!n || (n == 1 && fold(b, dops, at->pc)))
		return 0;
	op = dep_add_op(b, DEP_O_DERIVE, at->pc);
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

/*
 * Add the operation of a call, return or jump.  It must come before the operation that changes rsp,
 * since rsp may be unknown after the instruction; so the change of rsp is added as a constant.
 */
static void add_call(struct dep_builder *b, const struct dep_site *at)
{
	const struct x86_insn *in = at->in;
	struct dep_op *op;

	if (in->kind == X86_JMP || in->kind == X86_JMP_IND) {
		op = dep_add_op(b, DEP_O_CALL, at->pc);
		op->size = DEP_CL_JUMP;
		op->src = b->known & X86_BIT(X86_RSP) ? X86_RSP : DEP_S_ZERO;
	} else if (in->kind == X86_CALL || in->kind == X86_CALL_IND || in->kind == X86_RET) {
		op = dep_add_op(b, DEP_O_CALL, at->pc);
		op->size = in->kind == X86_RET ? DEP_CL_RETURN : DEP_CL_CALL;
		op->src = X86_RSP;
		op->imm = in->kind == X86_RET ? 8 + (s32)in->imm : -8;
	}
}

/* At the first instruction of a run: add a return from, and an entry into, a hooked function. */
static void add_functions(struct dep_builder *b, const struct dep_site *at)
{
	const struct adept_run *run = at->begins;
	struct dep_op *op;
	u32 i;

	if (run->returns && b->known & X86_BIT(X86_RSP)) {
		op = dep_add_op(b, DEP_O_FUNCTION, at->pc);
		op->size = 1;
		op->imm = b->known & X86_BIT(X86_RAX) ? 1 << 16 : 0;
	}
	if (run->function && b->known & X86_BIT(X86_RSP)) {
		op = dep_add_op(b, DEP_O_FUNCTION, at->pc);
		op->imm = run->function;
		for (i = 0; i < dep_function_args(run->function); i++)
			if (b->known & X86_BIT(dep_function_regs[i]))
				op->imm |= 1 << (16 + i);
	}
}

static int add_insn(struct dep_builder *b, struct dep_site *at, const struct adept_store *post)
{
	struct dep_insn *insn = dep_builder_add(b, &b->insn, sizeof(*insn));
	const struct x86_insn *in = at->in;
	struct dep_op *op;
	int err;

	if (!insn)
		return -ENOMEM;
	insn->pc = at->pc;
	insn->len = in->len;
	insn->gpr_addr = in->gpr_addr;
	insn->gpr_write = in->gpr_write;
	if (in->kind == X86_JCC || in->kind == X86_LOOP)
		insn->flags |= DEP_I_COND;
	if (in->kind == X86_JMP_IND || in->kind == X86_CALL_IND || in->kind == X86_RET)
		insn->flags |= DEP_I_INDIRECT;
	if (b->next_is_block) {
		insn->flags |= DEP_I_BLOCK;
		op = dep_add_op(b, DEP_O_BLOCK, at->pc);
		op->size = at->number;
	}
	b->next_is_block = is_branch(in->kind);
	if (at->begins)
		add_functions(b, at);
	err = dep_add_refs(b, at, post);
	if (!err)
		add_call(b, at);
	if (!err)
		err = add_derivation(b, at);
	if (err)
		return err;
	insn = (struct dep_insn *)b->insn.item + b->insn.n - 1;
	insn->op_end = (u16)b->op.n;	/* fits: dep_program_make() rejects larger programs */
	insn->known = b->known;
	return 0;
}

/* Set the lengths of all blocks, from the last block to the first. */
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
 * Is the result of the locked instruction @in used?  It is not if @in writes no register and its
 * flags are overwritten before an instruction reads them.  The @size bytes at @code are the code
 * after @in.  By the calling convention, a call or return makes the flags invalid.
 */
static enum dep_result_use use_of_result(const struct x86_insn *in, const u8 *code, u32 size)
{
	u16 left = in->flags_write;
	struct x86_insn next;
	int len;

	if (in->gpr_write)
		return DEP_USED;
	while (left) {
		len = x86_decode(&next, code, size);
		if (len <= 0)
			return DEP_USED;
		if (next.kind == X86_CALL || next.kind == X86_CALL_IND || next.kind == X86_RET)
			return DEP_UNUSED;
		if (next.kind == X86_JMP || next.kind == X86_JMP_IND)
			return DEP_LIKELY_UNUSED;
		if (next.kind != X86_NORMAL || next.flags_read & left)
			return DEP_USED;
		left &= ~next.flags_kill;
		code += len;
		size -= (u32)len;
	}
	return DEP_UNUSED;
}

int dep_compile(struct dep_builder *b)
{
	const struct adept_store *st = dep_desc_stores(b->d), *end = st + b->d->nstores;
	const struct adept_run *run = dep_desc_runs(b->d);
	const u8 *code = dep_desc_code(b->d);
	struct dep_desc_at done = { 0 };
	struct x86_insn in;
	u32 i, left = 0;
	struct dep_site at;
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
		at = (struct dep_site){ .in = &in, .pc = pc, .number = i, .begins = at.begins };
		dep_rebase(b, pc);
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
