// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From operands and register values to addresses.
 */
#include <string.h>

#include "oracle.h"

static uint64_t reg_value(const struct user_regs_struct *regs, uint16_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)regs + offset, sizeof(v));
	return v;
}

static uint64_t seg_base(const struct user_regs_struct *regs, uint8_t seg)
{
	if (seg == SEG_FS)
		return regs->fs_base;
	return seg == SEG_GS ? regs->gs_base : 0;
}

/* Base and displacement, without index, truncation and segment. */
static uint64_t base_part(const struct insn *in, const struct operand *op,
			  const struct user_regs_struct *regs)
{
	uint64_t a = op->disp + op->pop;

	if (op->base == RIP_REG)
		a += in->pc + in->len;
	else if (op->base != NO_REG)
		a += reg_value(regs, op->base);
	return a;
}

static uint64_t finish(const struct insn *in, const struct operand *op,
		       const struct user_regs_struct *regs, uint64_t a)
{
	if (in->flags & INSN_ADDR32)
		a = (uint32_t)a;
	return a + seg_base(regs, op->seg);
}

/* The byte offset of the word that a bit offset of 16, 32 or 64 bits reaches. */
static int64_t bit_word(const struct operand *op, uint64_t off)
{
	if (op->size == 2)
		return ((int64_t)(int16_t)off >> 4) * 2;
	if (op->size == 4)
		return ((int64_t)(int32_t)off >> 5) * 4;
	return ((int64_t)off >> 6) * 8;
}

static uint64_t address(const struct insn *in, const struct operand *op,
			const struct user_regs_struct *regs)
{
	uint64_t a = base_part(in, op, regs);

	if (op->index != NO_REG)
		a += reg_value(regs, op->index) * op->scale;
	if (op->bitreg != NO_REG)
		a += bit_word(op, reg_value(regs, op->bitreg));
	if (in->kind == KIND_XLAT)
		a += regs->rax & 0xff;
	/* the stack is addressed with all of rsp (leave: rbp), whatever the prefix */
	return op->stack ? a : finish(in, op, regs, a);
}

static void put(struct ref *r, uint64_t addr, uint32_t size, uint32_t type)
{
	r->addr = addr;
	r->size = size;
	r->type = type;
}

/*
 * enter with a level copies level - 1 frame pointers: the writes of the old rbp
 * and of the new one stand around these pairs, in the order of the manuals.
 */
static unsigned int enter_refs(const struct insn *in, const struct user_regs_struct *regs,
			       struct ref *refs)
{
	uint64_t rsp = regs->rsp - in->opsize, rbp = regs->rbp;
	unsigned int i, n = 0;

	put(&refs[n++], rsp, in->opsize, REF_WRITE);
	for (i = 1; i < in->level; i++) {
		rbp -= in->opsize;
		rsp -= in->opsize;
		put(&refs[n++], rbp, in->opsize, REF_READ);
		put(&refs[n++], rsp, in->opsize, REF_WRITE);
	}
	if (in->level)
		put(&refs[n++], rsp - in->opsize, in->opsize, REF_WRITE);
	return n;
}

/* Is element @i of @size bytes let through?  VEX masks are the elements' sign bits. */
static bool element_on(const struct insn *in, uint8_t vec[32][64], const uint64_t k[8],
		       unsigned int i, unsigned int size)
{
	if (in->evex)
		return k[in->mask] >> i & 1;
	return vec[in->mask][(i + 1) * size - 1] & 0x80;
}

static unsigned int vsib_refs(struct tracee *t, const struct insn *in,
			      const struct user_regs_struct *regs, struct ref *refs)
{
	const struct operand *op = &in->op[0];
	uint64_t base = base_part(in, op, regs), k[8];
	uint8_t vec[32][64];
	unsigned int i, n = 0;

	if (vector_state(t, vec, k) < 0)
		return 0;
	for (i = 0; i < in->nelem; i++) {
		int64_t index;

		if (!element_on(in, vec, k, i, op->size))
			continue;
		if (in->index_size == 4) {
			int32_t v;

			memcpy(&v, &vec[op->index][i * 4], sizeof(v));
			index = v;
		} else {
			memcpy(&index, &vec[op->index][i * 8], sizeof(index));
		}
		put(&refs[n++], finish(in, op, regs, base + (uint64_t)index * op->scale),
		    op->size, op->type);
	}
	return n;
}

/* One reference for each run of elements. */
static unsigned int masked_refs(struct tracee *t, const struct insn *in,
				const struct user_regs_struct *regs, struct ref *refs)
{
	uint64_t a = address(in, &in->op[0], regs), k[8];
	unsigned int i, from, n = 0, size = in->index_size;
	uint8_t vec[32][64];

	if (vector_state(t, vec, k) < 0)
		return 0;
	for (i = 0; i < in->nelem; i++) {
		for (from = i; i < in->nelem && element_on(in, vec, k, i, size); i++)
			;
		if (i > from)
			put(&refs[n++], a + from * size, (i - from) * size, in->op[0].type);
	}
	return n;
}

/**
 * refs_of() - the references that @in makes if it completes from @regs
 * @refs: room for MAX_REFS
 *
 * Of a repeated string instruction those of one iteration.
 *
 * Return: how many.
 */
unsigned int refs_of(struct tracee *t, const struct insn *in,
		     const struct user_regs_struct *regs, struct ref *refs)
{
	unsigned int i;

	if (in->kind == KIND_ENTER)
		return enter_refs(in, regs, refs);
	if (in->kind == KIND_VSIB)
		return vsib_refs(t, in, regs, refs);
	if (in->kind == KIND_MASKED)
		return masked_refs(t, in, regs, refs);
	if (in->flags & INSN_REP) {
		uint64_t left = regs->rcx;

		if (in->flags & INSN_ADDR32)
			left = (uint32_t)left;
		if (!left)
			return 0;
	}
	for (i = 0; i < in->nops; i++)
		put(&refs[i], address(in, &in->op[i], regs), in->op[i].size, in->op[i].type);
	return in->nops;
}
