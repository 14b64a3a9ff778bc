/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program under construction: shared by the files that compile it, and program.c. */
#ifndef ADEPT_RECOVER_PROGRAM_COMPILE_H
#define ADEPT_RECOVER_PROGRAM_COMPILE_H

#include "program.h"

struct dep_vector {
	void *item;
	size_t n, room;
};

/** struct dep_builder - program of the fragment @d; owned and freed by dep_program_make() */
struct dep_builder {
	const struct adept_desc_frag *d;
	struct dep_vector op, insn, store, dop, wide, unusual;
	u64 first_base, base;	/* dep_op.pc and .imm are relative to them */
	u16 known;
	u16 words;
	int next_is_block;
	int err;
};

/* DEP_LIKELY_UNUSED: a jump comes before the next use of the flags, such as a tail call. */
enum dep_result_use { DEP_USED, DEP_LIKELY_UNUSED, DEP_UNUSED };

/** struct dep_site - the instruction that is being compiled */
struct dep_site {
	const struct x86_insn *in;
	u64 pc;
	u32 number;
	u8 ea;			/* a bit for each operand whose address an EA store has */
	u32 vec[2];		/* bytes of the index and mask vectors that are stored */
	/* of a locked instruction: is the old value unused? */
	enum dep_result_use result_unused;
	int kreg;
	const struct adept_run *begins;	/* the run that begins with the instruction, or NULL */
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

/** dep_builder_add() - add an item of @size bytes to @v; NULL, with b->err set: no memory */
void *dep_builder_add(struct dep_builder *b, struct dep_vector *v, size_t size);
/** dep_add_op() - add an operation of the instruction at @pc, without operands; never NULL */
struct dep_op *dep_add_op(struct dep_builder *b, u8 code, u64 pc);
/** dep_copy_op() - add a copy of an operation at @pc */
void dep_copy_op(struct dep_builder *b, const struct dep_op *from, u64 pc);
/** dep_add_const() - @dst = @value */
void dep_add_const(struct dep_builder *b, u8 dst, u64 value, u64 pc);
/** dep_rebase() - set a new base if the instruction at @pc is far from the current one */
void dep_rebase(struct dep_builder *b, u64 pc);

/* ---- references.c ---- */

/**
 * dep_add_refs() - add the operations of the instruction's memory references
 * @post: its POST store, if it is a string instruction
 *
 * Return: 0, -ENOMEM, or -EBADMSG if an address cannot be computed.
 */
int dep_add_refs(struct dep_builder *b, struct dep_site *at, const struct adept_store *post);

/* ---- compile.c ---- */

/** dep_compile() - fill @b with all operations of its fragment */
int dep_compile(struct dep_builder *b);

#endif
