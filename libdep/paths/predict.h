/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What counts of edges say about paths, and what counts of paths say about edges.
 *
 * A profile of edges predicts paths by following the edge that was executed most often out of each
 * block.  As in the paper each executed path is compared with this prediction, block by block from
 * its first one: it is predicted up to the first edge that is not the most frequent one.  Of edges
 * executed equally often the taken one counts as more frequent, else the first one.  Self loops end
 * no path and are no candidates.
 */
#ifndef ADEPT_PATHS_PREDICT_H
#define ADEPT_PATHS_PREDICT_H

#include "regenerate.h"

/**
 * dep_path_likely_edges() - the edge that was executed most often out of each block
 * @count: executions of each edge; NULL: the weights in the graph
 * @likely: gets an edge for each vertex
 */
void dep_path_likely_edges(const struct dep_paths *p, const u64 *count, u32 *likely);

/**
 * dep_path_predict() - the path that edges predict from a start
 * @likely: see dep_path_likely_edges()
 * @vertex, @called: see dep_path_enter(); with 0 and true this is the path that edges predict as
 *	the function's most frequent one
 *
 * Return: 0; -EINVAL if no path begins there.
 */
int dep_path_predict(const struct dep_paths *p, const u32 *likely, u32 vertex, bool called,
		     u64 *number);

/**
 * struct dep_path_lengths - sums of lengths over paths
 * @edges: sum of edges, each path as often as it was executed
 * @insns: the same of instructions
 * @longest_edges, @longest_insns: of the longest path
 */
struct dep_path_lengths {
	u128 edges, insns;
	u64 longest_edges, longest_insns;
};

/**
 * struct dep_path_prediction - executed paths compared with what edges predict
 * @paths: number of different paths; @executions: of them all
 * @whole: number of paths that were predicted from the first block to the last edge
 * @whole_executions: of those
 * @executed: lengths of the paths; @predicted: up to the first wrong edge, and its block
 *
 * The edge on which a path ends counts for its length if it leads to a block, and must be predicted
 * in any case.
 */
struct dep_path_prediction {
	u64 paths, whole;
	u64 executions, whole_executions;
	struct dep_path_lengths executed, predicted;
};

/**
 * dep_path_compare() - add an executed path to the comparison
 * @sum: all 0 before the first path
 * @count: how often the path was executed
 *
 * Return: 0; -EINVAL if there is no such path.
 */
int dep_path_compare(const struct dep_paths *p, const u32 *likely, u64 number, u64 count,
		     struct dep_path_prediction *sum);

/**
 * dep_path_count_edges() - add an executed path to counts of edges and blocks
 * @edge, @block: counters of all edges and vertices; either may be NULL
 *
 * The counts are those of executed edges, but for self loops, which no path has.  A self loop's
 * executions must be added to its edge and its block.
 *
 * Return: 0; -EINVAL if there is no such path.
 */
int dep_path_count_edges(const struct dep_paths *p, u64 number, u64 count, u64 *edge, u64 *block);

/** dep_path_count_partial() - the same for a path that stops at block @at */
int dep_path_count_partial(const struct dep_paths *p, u64 sum, u32 at, u64 count, u64 *edge,
			   u64 *block);

#endif
