/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Construction of recovery programs: shared by compile.c, references.c, builder.c, program.c. */
#ifndef ADEPT_RECOVER_PROGRAM_COMPILE_H
#define ADEPT_RECOVER_PROGRAM_COMPILE_H

#include "program.h"

struct dep_vector {
	void *item;
	size_t n, room;
};

/**
 * struct dep_builder - a program under construction; program.c frees its vectors
 * @d: descriptor of the fragment
 * @op: struct dep_op
 * @insn: struct dep_insn
 * @store: struct dep_store_info
 * @dop: struct x86_dop
 * @wide: 64-bit constants
 * @unusual: union dep_unusual
 * @first_base: base at the beginning of the program
 * @base: current base: dep_op.pc and some dep_op.imm are relative to it
 * @known: mask of the registers whose values are known at the current position
 * @words: number of 64-bit values stored before the current position
 * @next_is_block: the next instruction begins a basic block
 * @err: 0, or -ENOMEM after a failed dep_builder_add()
 */
struct dep_builder {
	const struct adept_desc_frag *d;
	struct dep_vector op, insn, store, dop, wide, unusual;
	u64 first_base, base;
	u16 known;
	u16 words;
	int next_is_block;
	int err;
};

/*
 * Is the result of a locked instruction used?  DEP_LIKELY_UNUSED: a jump follows, such as a tail
 * call, before the flags are read or overwritten.
 */
enum dep_result_use { DEP_USED, DEP_LIKELY_UNUSED, DEP_UNUSED };

/** struct dep_site - the instruction that is being compiled */
struct dep_site {
	const struct x86_insn *in;
	u64 pc;
	u32 number;
	u8 ea;			/* bit i: ADEPT_ST_EA has stored the address of operand i */
	u32 vec[2];		/* stored bytes of the index vector and of the mask vector */
	/* only for a locked instruction: is the old value of the memory operand unused? */
	enum dep_result_use result_unused;
	int kreg;
	const struct adept_run *begins;	/* run whose first instruction this is, or NULL */
};

static inline bool dep_fits(u64 imm)
{
	return (s64)imm == (s32)imm;
}

static inline u8 dep_log2(u32 n)
{
	return n ? 31 - __builtin_clz(n) : 0;
}

/* ---- builder.c ---- */

/** dep_builder_add() - add a zeroed item of @size bytes to @v; NULL and b->err set: no memory */
void *dep_builder_add(struct dep_builder *b, struct dep_vector *v, size_t size);
/** dep_add_op() - add an operation of the instruction at @pc, without operands; never NULL */
struct dep_op *dep_add_op(struct dep_builder *b, u8 code, u64 pc);
/** dep_copy_op() - add a copy of @from as an operation of the instruction at @pc */
void dep_copy_op(struct dep_builder *b, const struct dep_op *from, u64 pc);
/** dep_add_const() - add the operation that sets slot @dst to @value */
void dep_add_const(struct dep_builder *b, u8 dst, u64 value, u64 pc);
/** dep_rebase() - set a new base if the instruction at @pc is far from the current base */
void dep_rebase(struct dep_builder *b, u64 pc);

/* ---- references.c ---- */

/**
 * dep_add_refs() - add the operations of the instruction's memory references
 * @post: of a string instruction: the ADEPT_ST_POST store of its pointer register
 *
 * Return: 0, -ENOMEM, or -EBADMSG if an address cannot be computed.
 */
int dep_add_refs(struct dep_builder *b, struct dep_site *at, const struct adept_store *post);

/* ---- compile.c ---- */

/** dep_compile() - fill @b with all operations of its fragment */
int dep_compile(struct dep_builder *b);

#endif
