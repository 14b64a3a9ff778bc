/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovery programs: what recovery does for one fragment, worked out once.
 *
 * A fragment is one fixed sequence of stores and instructions, and every way to
 * enter or leave it is a cut of that sequence (codec/descriptor.c).  So there is one
 * list of operations for all exits of a fragment; an exit is a place to stop.
 */
#ifndef ADEPT_RECOVER_PROGRAM_PROGRAM_H
#define ADEPT_RECOVER_PROGRAM_PROGRAM_H

#include <stdbool.h>

#include "dep/functions.h"
#include "libdep/abi/stream.h"
#include "libdep/format/read/store.h"
#include "libdep/x86/derive.h"

/* Indices into the values that operations work on: the registers by number, then: */
enum dep_slot {
	DEP_S_ZERO = 16,	/* always 0 */
	DEP_S_EA = 17,		/* addresses from EA stores, one per operand */
	DEP_S_TMP = DEP_S_EA + X86_MAX_MEM,
	DEP_S_TMP2,
	DEP_S_FS,		/* segment bases */
	DEP_S_GS,
	DEP_SLOTS
};

enum dep_op_code {
	DEP_O_LOAD,	/* dst = next value */
	DEP_O_SKIP,	/* imm values are not needed */
	DEP_O_CHECK,	/* next value must equal src */
	DEP_O_VEC,	/* vector dst (0 index, 1 mask) is the next imm values */
	DEP_O_KREG,	/* opmask is the next value */
	DEP_O_BLOCK,	/* a block of imm instructions begins; src2, dst: its first insn */
	DEP_O_REF0,	/* reference at base + imm */
	DEP_O_REF1,	/* at src + imm */
	DEP_O_REF2,	/* at src + (src2 << shift) + imm */
	DEP_O_REFX,	/* as REF2, cut to 32 bits where addr32, plus dst */
	DEP_O_CONST,	/* dst = imm */
	DEP_O_NEAR,	/* dst = base + imm */
	DEP_O_WIDE,	/* dst = program->wide[imm] */
	DEP_O_BASE,	/* from here on base is program->wide[imm] */
	DEP_O_ADD,	/* dst = src + imm */
	DEP_O_LEA,	/* dst = src + (src2 << shift) + imm */
	DEP_O_LOW8,	/* dst = low byte of src */
	DEP_O_BITOFF,	/* dst = offset of the word that bit src lies in; size: of the word */
	DEP_O_DERIVE,	/* size derivations from program->dop[imm] on */
	DEP_O_STRING,	/* program->unusual[imm]; the next value is its pointer afterwards */
	DEP_O_GATHER,	/* program->unusual[imm] */
	DEP_O_TIMESTAMP,	/* the next value is one, size: DEP_TK_* */
	/* size: DEP_CL_*, src: where rsp is, which imm changes */
	DEP_O_CALL,
	/* a function imm & 0xffff begins (size 0), or returned (1); imm >> 16: known values */
	DEP_O_FUNCTION,
	/*
	 * a masked move at the address of DEP_O_REFX; size: its elements, the bytes of one << 8,
	 * and DEP_MK_VECTOR where the mask is one
	 */
	DEP_O_MASKED,
	DEP_O_ENTER,	/* references of enter after the first; program->unusual[imm] */
};

#define DEP_MK_VECTOR	0x8000u

enum { DEP_CL_CALL, DEP_CL_RETURN, DEP_CL_JUMP };

static inline int dep_op_is_ref(u8 code)
{
	return code >= DEP_O_REF0 && code <= DEP_O_REFX;
}

/*
 * DEP_TK_COUNTS: it adds or subtracts, and is DEP_TK_UNUSED or likely to be.  DEP_TK_FENCE: it
 * changes nothing, on top of the stack.
 */
enum {
	DEP_TK_AFTER = 1, DEP_TK_CMPXCHG = 2, DEP_TK_UNUSED = 4, DEP_TK_COUNTS = 8,
	DEP_TK_FENCE = 16,
};

/*
 * struct dep_op - short, as all that is told of a program: there are many, and the fewer bytes they
 * have the more of them are in the processor's caches
 * @pc: of the instruction, seen from base, which is dep_program.base and what DEP_O_BASE makes it
 */
struct dep_op {
	u8 code;		/* enum dep_op_code */
	u8 dst, src, src2;	/* enum dep_slot */
	u8 shift;
	/* type: enum dep_ref_type; whose: enum dep_code, once the program is coded (filter.c) */
	u8 addr32 : 1, type : 2, origin : 5;
	u16 size;
	s32 imm;
	s32 pc;
};

/**
 * struct dep_filtered_op - see filtered_program.h
 * @code: DEP_O_REFX: any reference that is not simple; one that has no case of its own
 *	(interp.c): to be done by dep_program.op[@of]
 * @dst: of references instead of that whose code they are
 */
struct dep_filtered_op {
	u8 code;
	u8 dst, src, src2;
	u8 shift : 6, : 1, write : 1;	/* a shift looks at six bits of its count anyway */
	u8 size;
	u16 of;
	s32 imm;
};

struct dep_string {
	u8 ptr, other;		/* registers; other DEP_S_ZERO where there is only one */
	u8 nmem, rep, addr32;
	u8 base[2], seg[2], type[2];
	u16 size;
};

struct dep_gather {
	u8 base, seg, shift, addr32, type;
	u8 n;			/* elements */
	u8 index_size, mask_size;	/* bytes of an element; mask_size 0: opmask */
	u16 size;
	u64 disp;
};

/* What paper_formats.c wants to know of an instruction. */
enum { DEP_I_BLOCK = 1, DEP_I_COND = 2, DEP_I_INDIRECT = 4, DEP_I_STRING = 8 };

struct dep_insn {
	u64 pc;
	u16 op_end;		/* of its own operations, those of later stores not among them */
	u16 known;		/* registers, after it and in front of its later stores */
	u16 gpr_addr, gpr_write;
	u16 string;		/* dep_program.unusual */
	u8 flags;		/* DEP_I_* */
};

struct dep_store_info {
	u16 op_end;		/* after its operation */
	u16 known;		/* after it */
	u16 word;		/* values before it, in 64-bit words */
};

/** struct dep_details - what only they need who stop in the middle of a program, or look into it */
struct dep_details {
	struct dep_insn *insn;
	struct dep_store_info *store;
	u16 words;		/* all values */
};

/* What the operations before some place make whatever the values are. */
struct dep_static {
	u16 refs, reads, writes, blocks;
};

struct dep_exit_info {
	const struct dep_program *program;
	struct dep_static count;
	s32 last_pc;		/* of the last instruction, as dep_op.pc, if there is one */
	u16 op_end, filtered_end;
	u16 words;
	u16 ninsns;
	u16 known;
	u8 runs;		/* of its filtered program, before it has machine code: jit.h */
	u8 kind;		/* enum adept_exit_kind */
};

/* What some rare operations have. */
union dep_unusual {
	struct dep_string string;
	struct dep_gather gather;
	struct x86_insn enter;
};

/* A block of memory, and two that are made when somebody wants them. */
struct dep_program {
	const struct adept_desc_frag *d;
	u64 base;
	struct dep_exit_info *exit;
	struct dep_op *op;
	struct x86_dop *dop;
	u64 *wide;
	union dep_unusual *unusual;
	struct dep_filtered_op *filtered;
	struct dep_details *_Atomic details;	/* dep_program_details() */
	u16 nops;
	u16 max_items;		/* those that dynamic operations add not counted */
	u16 entry_mask;
	bool rebased;		/* it has a DEP_O_BASE */
	u8 coded;		/* dep_op.origin and @filtered are there: filter.c */
};

/** dep_program_make() - compile a fragment whose descriptor was checked */
int dep_program_make(const struct adept_desc_frag *d, struct dep_program **out);

/** dep_program_free() - @program: a struct dep_program, or NULL */
void dep_program_free(void *program);

/** dep_program_details() - its details; any number of threads at once, 0 or an error */
int dep_program_details(const struct dep_program *p, const struct dep_details **out);

/** dep_program_rebased() - dep_program_base() of one that has a DEP_O_BASE */
u64 dep_program_rebased(const struct dep_program *p, u32 op);

/** dep_program_base() - base in front of operation @op */
static inline u64 dep_program_base(const struct dep_program *p, u32 op)
{
	return p->rebased ? dep_program_rebased(p, op) : p->base;
}

/** struct dep_cut - a place in a program */
struct dep_cut {
	u32 op;
	u16 word, known;
	u16 insn;
	u8 needs_extra;		/* a string instruction's POST store is after the cut */
	u8 in_string;		/* the next store is the POST store of the next instruction */
};

/**
 * dep_program_cut() - the place after @ninsns instructions and @nstores stores
 *
 * Return: 0, or -EBADMSG if no such place exists.
 */
int dep_program_cut(const struct dep_program *p, u32 ninsns, u32 nstores, struct dep_cut *cut);

/** dep_program_static() - what operations from @from up to @to make at least */
struct dep_static dep_program_static(const struct dep_program *p, u32 from, u32 to);

/* Registers of arguments. */
extern const u8 dep_function_regs[DEP_FUNCTION_ARGS];
/** dep_function_is_heap() - is it an allocator's, or asks one something? */
int dep_function_is_heap(u32 function);
/** dep_function_mutes() - is what it does inside its own business?  Allocators', rwlocks' */
int dep_function_mutes(u32 function);
/** dep_function_frees() - does it free what its first argument is? */
int dep_function_frees(u32 function);
/** dep_function_reallocates() - does it give another block for its first argument, or the same? */
int dep_function_reallocates(u32 function);
/** dep_function_tells_size() - is its result how much its first argument has? */
int dep_function_tells_size(u32 function);
/**
 * dep_function_asks() - the memory that a function was asked for, with @arg, of which @known are
 *
 * Return: 0 if that is not known, or if it allocates none.
 */
int dep_function_asks(u32 function, u32 known, const u64 *arg, u64 *size);
/** dep_function_args() - how many arguments are told of it; 0 if it is not known here */
u32 dep_function_args(u32 function);

/* ---- for compile.c and program.c ---- */

struct dep_vector {
	void *item;
	size_t n, room;
};

struct dep_builder {
	const struct adept_desc_frag *d;
	struct dep_vector op, insn, store, dop, wide, unusual;
	u64 first_base, base;	/* of dep_op.pc and .imm */
	u16 known;
	u16 words;
	int next_is_block;
	int err;
};

void *dep_builder_add(struct dep_builder *b, struct dep_vector *v, size_t size);

/** dep_compile() - fill @b with all of the fragment's operations */
int dep_compile(struct dep_builder *b);

#endif
