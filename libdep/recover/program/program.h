/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovery programs: the list of operations that recovery runs for one fragment.
 *
 * A fragment is a fixed sequence of instructions and of stores, which write values to the recording
 * (struct adept_store).  A record executes the sequence from one position to another.  So one list
 * of operations, compiled once, serves all exits of a fragment: an exit is a position in the list.
 */
#ifndef ADEPT_RECOVER_PROGRAM_PROGRAM_H
#define ADEPT_RECOVER_PROGRAM_PROGRAM_H

#include <stdbool.h>

#include "dep/functions.h"
#include "libdep/abi/stream.h"
#include "libdep/format/read/store.h"
#include "libdep/x86/derive.h"

/* Slots hold the values that operations work on.  Slots 0 to 15 are the general registers. */
enum dep_slot {
	DEP_S_ZERO = 16,	/* always 0 */
	DEP_S_EA = 17,		/* effective addresses (ADEPT_ST_EA), one for each memory operand */
	DEP_S_TMP = DEP_S_EA + X86_MAX_MEM,
	DEP_S_TMP2,
	DEP_S_FS,		/* fs base; the next slot has the gs base */
	DEP_S_GS,
	DEP_SLOTS
};

/*
 * Operations.  src, src2, dst, imm, shift and size are fields of struct dep_op; src, src2 and dst
 * stand for the values of these slots.  "Value" is a value of the record, in the order stored.
 * "base" is a code address: dep_program.base, until a DEP_O_BASE sets another one.
 */
enum dep_op_code {
	DEP_O_LOAD,	/* dst = the next value */
	DEP_O_SKIP,	/* skip imm values */
	DEP_O_CHECK,	/* count a failed self-check if the next value differs from src */
	DEP_O_VEC,	/* the next imm values are an index vector (dst 0) or a mask (dst 1) */
	DEP_O_KREG,	/* opmask register = the next value */
	DEP_O_BLOCK,	/* a basic block of imm instructions begins; size: index of its first */
	DEP_O_REF0,	/* memory reference at base + imm */
	DEP_O_REF1,	/* memory reference at src + imm */
	DEP_O_REF2,	/* memory reference at src + (src2 << shift) + imm */
	/* memory reference at dst + (the sum of DEP_O_REF2, truncated to 32 bits if addr32) */
	DEP_O_REFX,
	DEP_O_CONST,	/* dst = imm */
	DEP_O_NEAR,	/* dst = base + imm, an address near the code */
	DEP_O_WIDE,	/* dst = program->wide[imm], a 64-bit constant */
	DEP_O_BASE,	/* from here on, base is program->wide[imm] */
	DEP_O_ADD,	/* dst = src + imm */
	DEP_O_LEA,	/* dst = src + (src2 << shift) + imm */
	DEP_O_LOW8,	/* dst = low byte of src */
	DEP_O_BITOFF,	/* dst = byte offset of the word that has bit src; size: bytes of a word */
	DEP_O_DERIVE,	/* run size register derivations from program->dop[imm] on */
	/* string instruction program->unusual[imm]; peeks at the next value, its final pointer */
	DEP_O_STRING,
	DEP_O_GATHER,	/* gather or scatter instruction program->unusual[imm] */
	DEP_O_TIMESTAMP,	/* the next value is a timestamp; size: DEP_TK_* */
	/* call, return or jump (size: DEP_CL_*); src + imm: stack pointer after the instruction */
	DEP_O_CALL,
	/*
	 * hooked function imm & 0xffff is entered (size 0), or a hooked function may have returned
	 * (size 1); imm >> 16: mask of the arguments or of the result that are known
	 */
	DEP_O_FUNCTION,
	/*
	 * masked vector move at the address of DEP_O_REFX; size: number of elements, bytes of an
	 * element << 8, and DEP_MK_VECTOR if the mask is a vector
	 */
	DEP_O_MASKED,
	/* all references but the first of the enter instruction program->unusual[imm] */
	DEP_O_ENTER,
};

#define DEP_MK_VECTOR	0x8000u

enum { DEP_CL_CALL, DEP_CL_RETURN, DEP_CL_JUMP };

static inline int dep_op_is_ref(u8 code)
{
	return code >= DEP_O_REF0 && code <= DEP_O_REFX;
}

/*
 * Flags of a timestamp of a locked instruction.
 * DEP_TK_AFTER: taken after the instruction; otherwise before it.
 * DEP_TK_CMPXCHG: the instruction is a compare-and-exchange.
 * DEP_TK_UNUSED: the program does not use the old value of the memory operand.
 * DEP_TK_COUNTS: the instruction adds or subtracts, and its result is unused or likely unused.
 * DEP_TK_FENCE: the instruction is a fence: it leaves the top of the stack unchanged.
 */
enum {
	DEP_TK_AFTER = 1, DEP_TK_CMPXCHG = 2, DEP_TK_UNUSED = 4, DEP_TK_COUNTS = 8,
	DEP_TK_FENCE = 16,
};

/*
 * struct dep_op - an operation; small, so that many fit into the processor's caches
 * @pc: pc of the instruction, minus the base, which the last DEP_O_BASE or dep_program.base sets
 */
struct dep_op {
	u8 code;		/* enum dep_op_code */
	u8 dst, src, src2;	/* enum dep_slot */
	u8 shift;
	/* type: enum dep_ref_type; origin: enum dep_code, valid if dep_program.coded is set */
	u8 addr32 : 1, type : 2, origin : 5;
	u16 size;
	s32 imm;
	s32 pc;
};

/**
 * struct dep_filtered_op - an operation of a filtered program, see filtered_program.c
 * @code: enum dep_op_code, but DEP_O_REFX is any reference that needs the slow path.  For codes
 *	without a case in dep_interp_filtered(), the interpreter runs dep_program.op[@of]
 * @dst: enum dep_slot; of a reference: dep_op.origin
 * @of: index of the operation in dep_program.op
 */
struct dep_filtered_op {
	u8 code;
	u8 dst, src, src2;
	u8 shift : 6, : 1, write : 1;	/* x86 shifts use only six bits of the count */
	u8 size;
	u16 of;
	s32 imm;
};

struct dep_string {
	u8 ptr, other;		/* pointer registers; other: DEP_S_ZERO if there is only one */
	u8 nmem, rep, addr32;
	u8 base[2], seg[2], type[2];
	u16 size;
};

struct dep_gather {
	u8 base, seg, shift, addr32, type;
	u8 n;			/* number of vector elements */
	u8 index_size, mask_size;	/* bytes of an element; mask_size 0: an opmask register */
	u16 size;
	u64 disp;
};

/* Flags of dep_insn: begins a block, conditional branch, indirect branch, string instruction. */
enum { DEP_I_BLOCK = 1, DEP_I_COND = 2, DEP_I_INDIRECT = 4, DEP_I_STRING = 8 };

struct dep_insn {
	u64 pc;
	u16 op_end;		/* end of the instruction's operations, without stores after it */
	u16 known;		/* mask of registers known at that position */
	u16 gpr_addr, gpr_write;
	u16 string;		/* of a string instruction: index in dep_program.unusual */
	u8 flags;		/* DEP_I_* */
	u8 len;
};

struct dep_store_info {
	u16 op_end;		/* end of the store's operation in dep_program.op */
	u16 known;		/* mask of the registers that are known after the store */
	u16 word;		/* number of 64-bit values of the record before this store */
};

/** struct dep_details - all positions in a program: for dep_program_cut() and tracers */
struct dep_details {
	struct dep_insn *insn;
	struct dep_store_info *store;
	u16 words;		/* number of values of a record that executes the whole fragment */
};

/* Numbers of items that a range of operations emits, whatever the values of the record are. */
struct dep_static {
	u16 refs, reads, writes, blocks;
};

struct dep_exit_info {
	const struct dep_program *program;
	struct dep_static count;
	s32 last_pc;		/* pc of the last instruction, if any, minus the base */
	u16 op_end, filtered_end;
	u16 words;
	u16 ninsns;
	u16 known;
	u8 runs;		/* executions of the filtered program, up to DEP_JIT_RUNS (jit.h) */
	u8 kind;		/* enum adept_exit_kind */
};

/* Parameters of rare operations. */
union dep_unusual {
	struct dep_string string;
	struct dep_gather gather;
	struct x86_insn enter;
};

/* A recovery program: one allocation, except @filtered and @details, which are made on demand. */
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
	u16 max_items;		/* maximum number of items, without those of dynamic_ops.c */
	u16 entry_mask;
	bool rebased;		/* has a DEP_O_BASE operation */
	u8 coded;		/* @filtered and dep_op.origin are set (filter.c) */
};

/** dep_program_make() - compile a fragment whose descriptor was checked; 0 or an error */
int dep_program_make(const struct adept_desc_frag *d, struct dep_program **out);

/** dep_program_free() - free @program, a struct dep_program or NULL */
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
	/* the ADEPT_ST_POST or _AFTER store of the last executed instruction is still missing */
	u8 needs_extra;
	u8 in_string;		/* the next store is the next instruction's ADEPT_ST_POST store */
};

/**
 * dep_program_cut() - find the position after @ninsns instructions and @nstores stores
 *
 * Return: 0, or -EBADMSG if there is no such position.
 */
int dep_program_cut(const struct dep_program *p, u32 ninsns, u32 nstores, struct dep_cut *cut);

/** dep_program_static() - count items that operations @from to @to - 1 emit for any values */
struct dep_static dep_program_static(const struct dep_program *p, u32 from, u32 to);

/* The registers that pass the first arguments of a function, in order. */
extern const u8 dep_function_regs[DEP_FUNCTION_ARGS];
/** dep_function_is_heap() - is it a function of an allocator? */
int dep_function_is_heap(u32 function);
/** dep_function_mutes() - true if accesses inside it are dropped: allocators, read-write locks */
int dep_function_mutes(u32 function);
/** dep_function_frees() - does it free the block that its first argument points to? */
int dep_function_frees(u32 function);
/** dep_function_reallocates() - does it move or resize the block its first argument points to? */
int dep_function_reallocates(u32 function);
/** dep_function_tells_size() - does it return the size of the block that its argument points to? */
int dep_function_tells_size(u32 function);
/**
 * dep_function_asks() - compute the size of the block that a call requests
 * @known: bit i: @arg[i] is known
 *
 * Return: 0 if the function allocates nothing or the size is unknown; else 1.
 */
int dep_function_asks(u32 function, u32 known, const u64 *arg, u64 *size);
/** dep_function_args() - number of arguments that recovery reports; 0 for an unknown function */
u32 dep_function_args(u32 function);

#endif
