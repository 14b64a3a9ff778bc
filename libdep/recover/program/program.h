/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovery programs: the list of operations that recovery runs for one fragment.
 *
 * A fragment is a fixed sequence of stores and instructions.  Each way to enter or leave it is a
 * cut of that sequence (codec/descriptor.c).  So one list of operations serves all exits of a
 * fragment; an exit is a position in it.  The list is compiled once.
 */
#ifndef ADEPT_RECOVER_PROGRAM_PROGRAM_H
#define ADEPT_RECOVER_PROGRAM_PROGRAM_H

#include <stdbool.h>

#include "dep/functions.h"
#include "libdep/abi/stream.h"
#include "libdep/format/read/store.h"
#include "libdep/x86/derive.h"

/* Slots: the values that operations work on.  0 to 15 are the registers by number, then: */
enum dep_slot {
	DEP_S_ZERO = 16,	/* always 0 */
	DEP_S_EA = 17,		/* addresses from EA stores, one for each operand */
	DEP_S_TMP = DEP_S_EA + X86_MAX_MEM,
	DEP_S_TMP2,
	DEP_S_FS,		/* fs base and gs base */
	DEP_S_GS,
	DEP_SLOTS
};

enum dep_op_code {
	DEP_O_LOAD,	/* dst = next value */
	DEP_O_SKIP,	/* skip imm values */
	DEP_O_CHECK,	/* count a failed check if the next value differs from src */
	DEP_O_VEC,	/* vector dst (0 index, 1 mask) is the next imm values */
	DEP_O_KREG,	/* opmask register = next value */
	DEP_O_BLOCK,	/* a block of imm instructions begins; size: number of its first one */
	DEP_O_REF0,	/* reference at base + imm */
	DEP_O_REF1,	/* at src + imm */
	DEP_O_REF2,	/* at src + (src2 << shift) + imm */
	DEP_O_REFX,	/* as REF2, truncated to 32 bits if addr32, plus dst */
	DEP_O_CONST,	/* dst = imm */
	DEP_O_NEAR,	/* dst = base + imm */
	DEP_O_WIDE,	/* dst = program->wide[imm] */
	DEP_O_BASE,	/* from here on base is program->wide[imm] */
	DEP_O_ADD,	/* dst = src + imm */
	DEP_O_LEA,	/* dst = src + (src2 << shift) + imm */
	DEP_O_LOW8,	/* dst = low byte of src */
	DEP_O_BITOFF,	/* dst = offset of the word that contains bit src; size: bytes of a word */
	DEP_O_DERIVE,	/* @size derivations from program->dop[imm] on */
	DEP_O_STRING,	/* program->unusual[imm]; next value: its new pointer; not consumed */
	DEP_O_GATHER,	/* program->unusual[imm] */
	DEP_O_TIMESTAMP,	/* the next value is a timestamp; size: DEP_TK_* */
	/* size: DEP_CL_*; src + imm: the stack pointer after it */
	DEP_O_CALL,
	/* function imm & 0xffff begins (size 0) or has returned (1); imm >> 16: known values */
	DEP_O_FUNCTION,
	/*
	 * a masked move to or from the address of DEP_O_REFX; size: number of elements, bytes of an
	 * element << 8, and DEP_MK_VECTOR if the mask is a vector
	 */
	DEP_O_MASKED,
	DEP_O_ENTER,	/* references of enter after the first one; program->unusual[imm] */
};

#define DEP_MK_VECTOR	0x8000u

enum { DEP_CL_CALL, DEP_CL_RETURN, DEP_CL_JUMP };

static inline int dep_op_is_ref(u8 code)
{
	return code >= DEP_O_REF0 && code <= DEP_O_REFX;
}

/*
 * Flags of a locked instruction.  DEP_TK_COUNTS: it adds or subtracts, and its result is unused or
 * likely to be.  DEP_TK_FENCE: it leaves the top of the stack unchanged.
 */
enum {
	DEP_TK_AFTER = 1, DEP_TK_CMPXCHG = 2, DEP_TK_UNUSED = 4, DEP_TK_COUNTS = 8,
	DEP_TK_FENCE = 16,
};

/*
 * struct dep_op - an operation; small, because caches must hold many of them
 * @pc: of the instruction, relative to the base: dep_program.base, or that of the last DEP_O_BASE
 */
struct dep_op {
	u8 code;		/* enum dep_op_code */
	u8 dst, src, src2;	/* enum dep_slot */
	u8 shift;
	/* type: enum dep_ref_type; origin: enum dep_code, set if the program is coded */
	u8 addr32 : 1, type : 2, origin : 5;
	u16 size;
	s32 imm;
	s32 pc;
};

/**
 * struct dep_filtered_op - an operation of a filtered program, see filtered_program.h
 * @code: as in dep_op.  DEP_O_REFX is any reference that needs the slow path.  Codes without a case
 *	in dep_interp_filtered() run dep_program.op[@of]
 * @dst: of a reference: its dep_op.origin
 * @of: index of the operation in dep_program.op
 */
struct dep_filtered_op {
	u8 code;
	u8 dst, src, src2;
	u8 shift : 6, : 1, write : 1;	/* shifts use six bits of their count only */
	u8 size;
	u16 of;
	s32 imm;
};

struct dep_string {
	u8 ptr, other;		/* registers; other is DEP_S_ZERO if there is one pointer */
	u8 nmem, rep, addr32;
	u8 base[2], seg[2], type[2];
	u16 size;
};

struct dep_gather {
	u8 base, seg, shift, addr32, type;
	u8 n;			/* number of elements */
	u8 index_size, mask_size;	/* bytes of an element; mask_size 0: opmask */
	u16 size;
	u64 disp;
};

/* Properties of an instruction, for paper_formats.c. */
enum { DEP_I_BLOCK = 1, DEP_I_COND = 2, DEP_I_INDIRECT = 4, DEP_I_STRING = 8 };

struct dep_insn {
	u64 pc;
	u16 op_end;		/* end of its own operations, before those of its later stores */
	u16 known;		/* known registers after it, before its later stores */
	u16 gpr_addr, gpr_write;
	u16 string;		/* index in dep_program.unusual */
	u8 flags;		/* DEP_I_* */
};

struct dep_store_info {
	u16 op_end;		/* end of its operation */
	u16 known;		/* known registers after it */
	u16 word;		/* number of 64-bit values before it */
};

/** struct dep_details - positions within a program: for cuts, and for paper_formats.c */
struct dep_details {
	struct dep_insn *insn;
	struct dep_store_info *store;
	u16 words;		/* number of all values */
};

/* Items that a range of operations makes for all values. */
struct dep_static {
	u16 refs, reads, writes, blocks;
};

struct dep_exit_info {
	const struct dep_program *program;
	struct dep_static count;
	s32 last_pc;		/* of the last instruction, if any; as dep_op.pc */
	u16 op_end, filtered_end;
	u16 words;
	u16 ninsns;
	u16 known;
	u8 runs;		/* of its filtered program, until it has machine code: jit.h */
	u8 kind;		/* enum adept_exit_kind */
};

/* Parameters of rare operations. */
union dep_unusual {
	struct dep_string string;
	struct dep_gather gather;
	struct x86_insn enter;
};

/* A recovery program: one allocation, and @filtered and @details, which are made on demand. */
struct dep_program {
	const struct adept_desc_frag *d;
	u64 base;
	struct dep_exit_info *exit;
	struct dep_op *op;
	struct x86_dop *dop;
	u64 *wide;
	union dep_unusual *unusual;
	struct dep_filtered_op *filtered;
	struct dep_details *_Atomic details;	/* see dep_program_details() */
	u16 nops;
	u16 max_items;		/* without those of dynamic operations */
	u16 entry_mask;
	bool rebased;		/* it has a DEP_O_BASE */
	u8 coded;		/* dep_op.origin and @filtered are set: filter.c */
};

/** dep_program_make() - compile a fragment whose descriptor was checked; 0 or an error */
int dep_program_make(const struct adept_desc_frag *d, struct dep_program **out);

/** dep_program_free() - @program: a struct dep_program, or NULL */
void dep_program_free(void *program);

/** dep_program_details() - get or make @p's details; 0 or an error; may be called by any thread */
int dep_program_details(const struct dep_program *p, const struct dep_details **out);

/** dep_program_rebased() - dep_program_base() for a program that has a DEP_O_BASE */
u64 dep_program_rebased(const struct dep_program *p, u32 op);

/** dep_program_base() - the base that is valid before operation @op */
static inline u64 dep_program_base(const struct dep_program *p, u32 op)
{
	return p->rebased ? dep_program_rebased(p, op) : p->base;
}

/** struct dep_cut - a position in a program, between two operations */
struct dep_cut {
	u32 op;
	u16 word, known;
	u16 insn;
	u8 needs_extra;		/* the POST store of a string instruction comes after the cut */
	u8 in_string;		/* the next store is the POST store of the next instruction */
};

/**
 * dep_program_cut() - find the position after @ninsns instructions and @nstores stores
 *
 * Return: 0, or -EBADMSG if there is no such position.
 */
int dep_program_cut(const struct dep_program *p, u32 ninsns, u32 nstores, struct dep_cut *cut);

/** dep_program_static() - what operations @from to @to - 1 make for all values */
struct dep_static dep_program_static(const struct dep_program *p, u32 from, u32 to);

/* The registers that pass the arguments of a function. */
extern const u8 dep_function_regs[DEP_FUNCTION_ARGS];
/** dep_function_is_heap() - is it a function of an allocator? */
int dep_function_is_heap(u32 function);
/** dep_function_mutes() - are accesses inside it dropped?  Of allocators and read-write locks */
int dep_function_mutes(u32 function);
/** dep_function_frees() - does it free the block that its first argument points to? */
int dep_function_frees(u32 function);
/** dep_function_reallocates() - does it move or resize the block of its first argument? */
int dep_function_reallocates(u32 function);
/** dep_function_tells_size() - does it return the size of the block of its first argument? */
int dep_function_tells_size(u32 function);
/**
 * dep_function_asks() - compute how many bytes a function is asked to allocate
 * @known: a bit for each element of @arg that is known
 *
 * Return: 0 if the function allocates nothing or the size is unknown; else 1.
 */
int dep_function_asks(u32 function, u32 known, const u64 *arg, u64 *size);
/** dep_function_args() - number of arguments that are recorded; 0 for an unknown function */
u32 dep_function_args(u32 function);

#endif
