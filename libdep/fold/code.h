/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decoded fragments, as folds and libdep's own profiles use them. */
#ifndef ADEPT_FOLD_CODE_H
#define ADEPT_FOLD_CODE_H

#include "dep/fold.h"
#include "libdep/format/codec/descriptor.h"
#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"

#define DEP_CODE_PAGE	64u	/* ids per page of dep_numbers */

#define DEP_CODE_LOW	(16u << 20)	/* ids below are found by one access to memory */

#define DEP_ID_BLOCK	1024u	/* ids per struct dep_id_block */

/**
 * struct dep_id_block - the numbers of the exits with DEP_ID_BLOCK successive ids
 * @first, @n: ids [@first, @first + @n) have successive numbers
 * @less: difference between these ids and their numbers
 */
struct dep_id_block {
	u32 first, n, less;
	u32 pad;		/* an index becomes an offset by a shift */
};

/**
 * struct dep_numbers - number of each exit, by its id
 *
 * The engine gives ids from 1 on.  The low ones are in one array; others, which a forged log can
 * scatter, in pages of 256 bytes, of which each fragment needs at most one more than its exits
 * fill.
 *
 * The engine takes ids in blocks of DEP_ID_BLOCK, and most fragments stand in the log in the order
 * of their ids.  So the number of nearly each id follows from its block alone, which is in the
 * cache, unlike the array.
 */
struct dep_numbers {
	u32 *low;
	u32 nlow;
	struct dep_id_block *block;	/* of the low ids */
	u32 **page;		/* DEP_EXIT_LIMIT / DEP_CODE_PAGE pointers */
	bool again;		/* an id has been given to a second exit: the log is forged */
};

/**
 * struct dep_insn_info - what profiles need of an instruction
 * @size, @refs, @branch: as in struct dep_insn_count
 * @refs_up_to: memory operands of the fragment up to this instruction, it included
 */
struct dep_insn_info {
	u8 size, refs, branch;
	u32 refs_up_to;
};

/*
 * What dep_code_make() returns; users see the first member only.  @first_insn: of each fragment, in
 * @insn.
 */
struct dep_code_made {
	struct dep_fragments code;
	struct dep_store *store;
	struct dep_numbers numbers;
	struct dep_code_fragment *fragment;
	struct dep_code_exit *exit;
	struct dep_branch_step *step;
	struct dep_insn_info *insn;
	u32 *first_insn;
	u32 ninsns;
	size_t exits_room, steps_room, insns_room, fragments_room, first_insns_room;
};

static inline const struct dep_code_made *dep_code_made(const struct dep_fragments *code)
{
	return (const struct dep_code_made *)code;
}

/** dep_insns_of() - the instructions of fragment @number, which has exits */
static inline const struct dep_insn_info *dep_insns_of(const struct dep_fragments *code, u32 number)
{
	const struct dep_code_made *c = dep_code_made(code);

	return c->insn + c->first_insn[number];
}

/** dep_code_refs() - number of memory operands of the first @insns instructions of a fragment */
static inline u32 dep_code_refs(const struct dep_fragments *code, u32 number, u32 insns)
{
	return insns ? dep_insns_of(code, number)[insns - 1].refs_up_to : 0;
}

/** dep_code_steps() - number of steps of @f that lie in front of instruction @insns */
u32 dep_code_steps(const struct dep_fragments *code, const struct dep_code_fragment *f, u32 insns);

static inline u32 dep_number_of(const struct dep_numbers *n, u32 id)
{
	const struct dep_id_block *b;
	const u32 *page;

	if (id < n->nlow) {
		b = n->block + id / DEP_ID_BLOCK;
		return id - b->first < b->n ? id - b->less : n->low[id];
	}
	page = id < DEP_EXIT_LIMIT ? n->page[id / DEP_CODE_PAGE] : NULL;
	return page ? page[id % DEP_CODE_PAGE] : 0;
}

/**
 * dep_code_grow() - add the fragments that were appended to a growing store
 *
 * Numbers of fragments and exits stay as they are, but arrays move, and the files and times of all
 * fragments are found anew.  No other thread may use @code meanwhile.
 *
 * Return: 0 or a negative errno; then only dep_code_free() may follow.
 */
int dep_code_grow(struct dep_fragments *code);

/** struct dep_code_insn - an instruction of a fragment */
struct dep_code_insn {
	u64 pc;
	u32 index;		/* in the fragment, from 0 */
	u32 code;		/* offset of its bytes in the descriptor's code */
	struct x86_insn in;
};

/** struct dep_code_reader - goes through the instructions of a fragment */
struct dep_code_reader {
	const struct adept_desc_frag *d;
	const struct adept_run *run;
	u32 left;		/* instructions that remain in the run */
	u64 pc;
	struct dep_desc_at at;
};

/** dep_code_begin() - begin to read the instructions of fragment @number */
void dep_code_begin(struct dep_code_reader *r, struct dep_store *store, u32 number);
/** dep_code_next() - decode the next instruction; 1, 0 at the end, or -EBADMSG */
int dep_code_next(struct dep_code_reader *r, struct dep_code_insn *out);

/** dep_code_pc() - address of instruction @insn of a fragment, or behind its last one; 0: none */
u64 dep_code_pc(struct dep_store *store, u32 number, u32 insn);

/** dep_branch_of() - enum dep_branch of an instruction */
u8 dep_branch_of(const struct x86_insn *in);

#endif
