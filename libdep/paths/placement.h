/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where instrumentation goes, and what it costs.
 *
 * Each path sets the path register r once, changes it on chords, and counts once.  As in the paper
 * (figure 8) these are merged:
 *
 *	r = 0, then r += i                  r = i          the start moves down to the first chord
 *	r += i, then count[r]++             count[r+i]++   the count moves up to the last chord
 *	r = i, then count[r]++              count[i]++
 *
 * Every path has a chord: without one, path and EXIT->ENTRY would be a cycle in the tree.  So a
 * start never moves down to EXIT, and a count never up past the place where r is set.
 *
 * The count can then stand in front of blocks that the path has not executed.  A user that counts
 * early terminations must know the blocks: a path that is left behind its count has been counted.
 */
#ifndef ADEPT_PATHS_PLACEMENT_H
#define ADEPT_PATHS_PLACEMENT_H

#include "chords.h"

/** enum dep_path_op - what the instrumentation of an arc does; i is its operand */
enum dep_path_op {
	DEP_PATH_NOTHING,
	DEP_PATH_SET,		/* r = i */
	DEP_PATH_ADD,		/* r += i */
	DEP_PATH_COUNT,		/* count[r + i]++ */
	DEP_PATH_COUNT_CONSTANT, /* count[i]++ */
	DEP_PATH_OPS,
};

/**
 * struct dep_path_placement - the instrumentation of each arc
 * @op: enum dep_path_op of each arc
 * @operand: its i
 *
 * A back edge or a cut edge carries the operation of its arc to EXIT and then that of the arc from
 * ENTRY to its target, dep_paths.head.
 */
struct dep_path_placement {
	const struct dep_paths *paths;
	u8 *op;
	s64 *operand;

	/* private: */
	struct dep_path_block block;
};

/** dep_path_place() - place instrumentation; 0 or -ENOMEM */
int dep_path_place(struct dep_path_placement *t, const struct dep_path_chords *c);
void dep_path_placement_free(struct dep_path_placement *t);

/**
 * struct dep_path_ops - number of operations of each kind
 * @edges: number of edges of the graph that have any, the entry and self loops included
 */
struct dep_path_ops {
	u64 op[DEP_PATH_OPS];
	u64 edges;
};

/**
 * struct dep_path_cost - what profiling costs at each level of optimisation
 * @values: the register is set at each start, each value that is not 0 is added, and each end
 *	counts
 * @chords: the same with the increments of the chords
 * @placed: with operations merged
 * @self_loops: executions of the counters of self loops
 *
 * Each operation counts once for code size, or as often as it is executed.  In the latter case
 * @edges says how often edges with instrumentation are executed.
 */
struct dep_path_cost {
	struct dep_path_ops values, chords, placed;
	u64 self_loops;
};

/**
 * dep_path_cost() - what profiling costs
 * @count: executions of each edge; NULL: the weights in the graph
 * @entered: how often the function was called
 * @fixed: gets the numbers of instructions in the code; may be NULL
 * @executed: gets how often they are executed; may be NULL
 *
 * Return: 0 or -ENOMEM.
 */
int dep_path_cost(const struct dep_path_placement *t, const struct dep_path_chords *c,
		  const u64 *count, u64 entered, struct dep_path_cost *fixed,
		  struct dep_path_cost *executed);

#endif
