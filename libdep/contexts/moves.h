/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What code does to the stack pointer, worked out once per fragment.
 *
 * Most instructions change rsp by a constant, so rsp is known from the control flow alone while it
 * is known once.
 */
#ifndef ADEPT_CONTEXTS_MOVES_H
#define ADEPT_CONTEXTS_MOVES_H

#include "dep/profile.h"
#include "libdep/abi/types.h"

enum dep_rsp_change {
	DEP_RSP_ADD,	/* changed by a constant */
	DEP_RSP_ALIGN,	/* the same, and rounded down once */
	DEP_RSP_RBP,	/* rbp and a constant */
	DEP_RSP_ENTRY,	/* as at the function's entry */
	DEP_RSP_MOVED,	/* a number that is not known was subtracted, or arguments were dropped */
	DEP_RSP_SET,	/* set anew: by longjmp, an exception, a switch of stacks.. */
};

/** struct dep_align - rsp = ((rsp + before) & mask) + after */
struct dep_align {
	s64 before, after;
	u64 mask;
};

#define DEP_MOVE_ENTRY		0x1	/* direct jump to the entry of a function */
#define DEP_MOVE_FRAME		0x4	/* rbp was set to rsp + @frame */
#define DEP_MOVE_FRAME_BEHIND	0x8	/* the same, where rsp is that behind the change */
#define DEP_MOVE_FRAMES		(DEP_MOVE_FRAME | DEP_MOVE_FRAME_BEHIND)
#define DEP_MOVE_POINTER	0x2	/* indirect jump through a pointer that is no table */

/**
 * struct dep_move - change of rsp from a fragment's beginning up to some instruction
 * @by: the constant; with DEP_RSP_ALIGN an index in dep_moves.align
 * @frame: with DEP_MOVE_FRAME, DEP_MOVE_FRAME_BEHIND
 * @pops: of a return, bytes that it pops behind the return address
 */
struct dep_move {
	s32 by, frame;
	u8 how;			/* enum dep_rsp_change */
	u8 flags;		/* DEP_MOVE_* */
	u16 pops;
};

/* What the hot loop does at an exit. */
enum dep_exit_op {
	DEP_OP_PLAIN,		/* change rsp by a constant */
	DEP_OP_CHANGE,		/* change rsp in another way */
	DEP_OP_CALL,
	DEP_OP_RETURN,
	DEP_OP_JUMP,		/* indirect */
	DEP_OP_TAIL,		/* direct jump to the entry of a function */
	DEP_OP_STEPS,		/* one of the steps before the last is such a jump */
};

/**
 * struct dep_exit_move - what an exit means for the stack; one for each number of an exit
 * @move: up to the branch that ends the record, or up to the end of it
 * @branches: number of calls, returns and unconditional jumps passed
 * @step: index in dep_fragments.step of the last step; valid if there is one
 */
struct dep_exit_move {
	struct dep_move move;
	u16 insns, refs;
	u8 op;			/* enum dep_exit_op */
	u8 pad;
	u16 branches;
	u32 step, fragment;
	u64 next;		/* a call's return address */
};

enum dep_hot_op {
	DEP_HOT_PLAIN,		/* only add */
	DEP_HOT_CALL,
	DEP_HOT_RETURN,
	DEP_HOT_JUMP,		/* indirect */
	DEP_HOT_TAIL,		/* indirect through a pointer, or direct to an entry */
	DEP_HOT_OTHER,		/* whatever is rare, or has a number that does not fit */
};

/* Numbers in dep_exit_hot.add.  Those of DEP_FOLD_BATCH exits fit in their bits. */
#define DEP_HOT_BITS	21u

/**
 * struct dep_exit_hot - what the hot loop needs of an exit: a part of struct dep_exit_move
 * @add: instructions, references << DEP_HOT_BITS, and branches << 2 * DEP_HOT_BITS
 * @start: address of the exit's fragment
 * @by: change of rsp; with DEP_HOT_OTHER it is 0, as @add is
 * @next: distance from @start to a call's return address
 * @step: as in struct dep_exit_move; of a return, what it adds to rsp
 * @op: enum dep_hot_op
 * @entry: the exit's fragment begins a function
 *
 * It is small, so that those of many exits stay in the cache.
 */
struct dep_exit_hot {
	u64 add, start;
	s32 by, next;
	u32 step, fragment;
	u8 op, entry;
};

struct dep_moves {
	struct dep_store *store;
	const struct dep_fragments *code;
	struct dep_exit_move *exit;	/* code->nexits */
	struct dep_exit_hot *hot;	/* the same */
	struct dep_move *step;		/* code->nsteps: up to the branch of each step */
	u8 *entry;			/* code->nfragments: begins a function */
	u32 *family;			/* code->nfragments: first process that forked into this */
	u32 *map;			/* 1 + index of the first fragment at a pc; hash table */
	u32 map_mask;
	struct dep_align *align;
	size_t naligns, room;
};

/** dep_moves_make() - decode all fragments; 0 or a negative errno */
int dep_moves_make(struct dep_store *store, const struct dep_fragments *code,
		   struct dep_moves **out);
void dep_moves_free(struct dep_moves *m);

/** dep_moves_find() - index of the first fragment of @fragment's program at @pc; -1: none */
s64 dep_moves_find(const struct dep_moves *m, u32 fragment, u64 pc);

/** dep_moves_at() - the same for a process; -1: none */
s64 dep_moves_at(const struct dep_moves *m, u32 process, u64 pc);

/**
 * dep_moves_between() - change of rsp by the instructions [@from, @to) of a fragment
 * @refs: receives the number of their memory operands
 */
void dep_moves_between(const struct dep_moves *m, u32 fragment, u32 from, u32 to,
		       struct dep_move *move, struct dep_align *align, u32 *refs);

/* ---- hot.c ---- */

/** dep_moves_make_hot() - fill in @hot, once entries are known */
void dep_moves_make_hot(struct dep_moves *m);

/* ---- entries.c ---- */

/**
 * struct dep_moves_source - where entries come from, besides the code
 * @counts: of the whole store; NULL: a pass over the store finds indirect calls
 * @jobs: workers of that pass
 * @leaves: as in struct dep_contexts_at_options; may be NULL
 */
struct dep_moves_source {
	const struct dep_profile *counts;
	unsigned int jobs;
	bool (*leaves)(void *arg, uint32_t process, uint64_t from, uint64_t to);
	void *arg;
};

/** dep_moves_entries() - find the entries of functions; 0 or an error */
int dep_moves_entries(struct dep_moves *m, const struct dep_moves_source *from);

#endif
