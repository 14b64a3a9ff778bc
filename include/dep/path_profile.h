/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Path profiles: how often each path through a function was executed, exactly.
 *
 * A path is a sequence of basic blocks (Ball and Larus, "Efficient Path Profiling", MICRO-29,
 * 1996).  It begins where a function is called or where control comes to the head of a loop, and
 * ends where the function returns or where a loop goes back to its head.  A call does not end it:
 * the path goes on behind the return.
 *
 * The graph of a function has the blocks and edges that were executed, so the numbers of paths are
 * valid within one profile only.  Paths of two profiles are compared by their blocks.
 *
 * Paths that an activation executes one after the other can be counted as sequences (D'Elia and
 * Demetrescu, "Ball-Larus Path Profiling Across Multiple Loop Iterations", OOPSLA 2013).  Each path
 * is counted together with those in front of it, so there is a row for each different history.
 */
#ifndef DEP_PATH_PROFILE_H
#define DEP_PATH_PROFILE_H

#include "contexts.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* What a row counts. */
enum dep_path_row_kind {
	DEP_PATH_ROW_WHOLE,	/* a path */
	/*
	 * The beginning of a path: the function was left by longjmp() or an exception, its thread
	 * ended, or the recording has a gap.
	 */
	DEP_PATH_ROW_PARTIAL,
	DEP_PATH_ROW_LOOP,	/* a block that was executed again and again; this ends no path */
};

/**
 * struct dep_path_row - a path
 * @pc: first instruction of its function
 * @image: file with @pc: 1 + index in dep_store_modules(); 0: none
 * @process: serial of the process that executed it
 * @function: index in dep_path_profile.function
 * @number: of the path; DEP_PATH_ROW_PARTIAL: that up to its last block, @block
 * @block: of DEP_PATH_ROW_LOOP the block, of DEP_PATH_ROW_PARTIAL the last one
 * @insns: instructions that are executed each time, without those of functions that it calls
 * @next: the block to which the edge leads on which the path ends, back to the head of a loop;
 *	0: the function ends, or the row is partial
 * @before: number of paths that the activation executed right in front of it, at most
 *	dep_path_profile_options.iterations - 1; if there are fewer, nothing or a partial path was
 *	in front of them.  0 of DEP_PATH_ROW_LOOP.  See dep_path_profile_before()
 *
 * All but @before is of the one path, so the counts and instructions of all rows add up to what was
 * executed, whatever is in front of the paths.
 */
struct dep_path_row {
	uint64_t pc, number, count, insns, next;
	uint32_t process, image, function, block;
	uint32_t blocks;	/* number of blocks */
	uint32_t before;
	uint32_t window;	/* private */
	uint8_t kind;		/* enum dep_path_row_kind */
	uint8_t pad[3];
};

/**
 * struct dep_path_code - a basic block
 * @last: address of its last instruction
 * @bytes: its instructions, @size bytes, as long as the store is open
 * @version: of rewritten code: each code that was executed at these addresses has a number, from 0
 * @branch: enum dep_branch of its last instruction; NONE: it goes on behind
 */
struct dep_path_code {
	uint64_t pc, last;
	const uint8_t *bytes;
	uint32_t insns, version, size;
	uint8_t branch, pad[3];
};

/**
 * struct dep_path_function - a function of a process
 * @paths: different whole paths that were executed
 * @potential: paths that the executed graph has; all bits set if there are more
 * @truncated: there are too many: some edges end paths like those back to the head of a loop
 */
struct dep_path_function {
	uint64_t pc, paths, potential;
	uint32_t process, image;
	uint32_t blocks, edges;
	uint8_t truncated, pad[7];
};

/**
 * struct dep_path_profile - the paths of a recording, or of a part of it
 *
 * Rows are sorted by process, @pc, image, kind, number, block, and the numbers of the paths in
 * front, the nearest one first.
 *
 * @insns: executed in all rows
 * @not_counted: paths that did not fit in the memory allowed, or whose function has more than 2^20
 *	blocks; activations whose beginning was forgotten for lack of memory; and calls whose
 *	context did not fit, so that what they executed counts for the function that called.
 *	With sequences, also the paths behind one that was not counted, in the same activation
 */
struct dep_path_profile {
	const struct dep_path_row *row;
	const struct dep_path_function *function;
	size_t nrows, nfunctions;
	uint64_t insns, not_counted;
	struct dep_fold_loss loss;
	/* The following is private. */
	void *own;
};

#define DEP_PATH_PROFILE_MEMORY		(1ull << 30)	/* default of @memory */
#define DEP_PATH_ITERATIONS		64u		/* most @iterations */

/**
 * struct dep_path_profile_options - owned by the caller; begin with all zero
 * @fold: what to read
 * @symbols, @counts: as in struct dep_contexts_options
 * @memory: bytes for the stacks of the threads, the graphs and the counters; 0: a default
 * @iterations: paths of a sequence, up to DEP_PATH_ITERATIONS; 0 or 1: each path is alone
 */
struct dep_path_profile_options {
	struct dep_fold_options fold;
	struct dep_symbols *symbols;
	const struct dep_profile *counts;
	uint64_t memory;
	uint32_t iterations;
};

/**
 * dep_path_profile_make() - count the paths of all that @store's threads executed
 * @options: NULL: the defaults
 *
 * Follows the calls of each thread twice: first to find the executed graph of each function, then
 * to count.  @store and @code must stay open until dep_path_profile_free().
 *
 * Return: 0 or a negative errno with dep_error().  -ENOSPC: the graphs do not fit in the memory
 * allowed.  -ESTALE: the store changed while it was read.  -EINVAL: too many iterations.
 */
int dep_path_profile_make(struct dep_store *store, const struct dep_fragments *code,
			  const struct dep_path_profile_options *options,
			  struct dep_path_profile **out);
void dep_path_profile_free(struct dep_path_profile *p);

/**
 * dep_path_profile_blocks() - the blocks of row @row, in the order of their execution
 * @out: gets the first @room of them; may be NULL if @room is 0
 *
 * Return: how many blocks it has; 0: there is too little memory, but never with a @room of 0 or 1.
 */
size_t dep_path_profile_blocks(const struct dep_path_profile *p, size_t row,
			       struct dep_path_code *out, size_t room);

/**
 * dep_path_profile_before() - the numbers of the paths in front of that of row @row, in the order
 * of their execution
 * @number: gets the first @room of them; may be NULL if @room is 0
 *
 * They are whole paths of the same function.  Return: how many there are, dep_path_row.before.
 */
size_t dep_path_profile_before(const struct dep_path_profile *p, size_t row, uint64_t *number,
			       size_t room);

/**
 * dep_path_profile_path() - the blocks of the whole path @number of function @function
 * @function: index in p->function
 * @out: as in dep_path_profile_blocks()
 *
 * Return: how many blocks it has; 0: there is no such path, or too little memory.
 */
size_t dep_path_profile_path(const struct dep_path_profile *p, uint32_t function, uint64_t number,
			     struct dep_path_code *out, size_t room);

/** struct dep_path_sums - sums of lengths over executed paths, and the longest one */
struct dep_path_sums {
	uint64_t edges, insns;
	uint64_t longest_edges, longest_insns;
};

/**
 * struct dep_path_table - the paths of all functions, and what counts of edges say of them
 *
 * A profile of edges predicts the path that takes the edge executed most often out of each block.
 * An executed path is predicted up to its first edge that is another one.  Partial paths and loops
 * of one block are left out.
 *
 * @functions: with at least one path; @all_predicted: those whose paths are all predicted
 * @truncated: functions with too many potential paths, as in struct dep_path_function
 * @potential: paths that the executed graphs have; all bits set if there are more
 * @paths: different executed paths; @executions: of them all
 * @predicted_paths, @predicted_executions: of these, predicted up to the last edge
 * @executed: lengths of executed paths, each as often as it was executed
 * @predicted: the same up to the first edge that was not predicted
 */
struct dep_path_table {
	uint64_t functions, all_predicted, truncated, potential;
	uint64_t paths, executions, predicted_paths, predicted_executions;
	struct dep_path_sums executed, predicted;
};

/** dep_path_profile_table() - 0, or a negative errno with dep_error(); @p has no sequences */
int dep_path_profile_table(const struct dep_path_profile *p, struct dep_path_table *out);

/**
 * struct dep_path_flow - the code of a function, for the number of its potential paths
 *
 * It has executed paths of any number of profiles, and the code of the function's file.
 */
struct dep_path_flow;

/** dep_path_flow_new() - a function that begins at @entry; 0 or -ENOMEM */
int dep_path_flow_new(uint64_t entry, struct dep_path_flow **out);
void dep_path_flow_free(struct dep_path_flow *f);

/**
 * dep_path_flow_path() - add the edges of an executed path
 * @row, @block: it has row->blocks blocks, which are copied
 * @base: address in the process, less that in @f
 *
 * Return: 0, -ENOMEM, or -E2BIG.
 */
int dep_path_flow_path(struct dep_path_flow *f, const struct dep_path_row *row,
		       const struct dep_path_code *block, uint64_t base);

/**
 * dep_path_flow_code() - add code of the file, which is copied
 *
 * What can be reached in it is part of the graph then.  A branch to other code ends the function,
 * as a tail call does.  Calls return.
 *
 * Return: 0, -ENOMEM, or -E2BIG.
 */
int dep_path_flow_code(struct dep_path_flow *f, uint64_t pc, const void *bytes, size_t size);

/**
 * dep_path_flow_potential() - count the paths through all that was added
 * @paths: all bits set if there are more
 * @more: set if there may be more: indirect jumps lead only where they did on executed paths
 *
 * Paths of the same blocks count once.  Return: 0, -ENOMEM, or -E2BIG for too many blocks.
 */
int dep_path_flow_potential(struct dep_path_flow *f, uint64_t *paths, bool *more);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
