/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From numbers to paths and back.
 *
 * A path is its first block, the edges that it follows, and the edge on which it ends: to the exit,
 * a back edge or a cut edge.  A partial path stops at a block, because the function was left there
 * by longjmp(), an exception or the end of the process.  Its block and the sum of the values so far
 * identify it: two ways to the same block have different sums.
 */
#ifndef ADEPT_PATHS_REGENERATE_H
#define ADEPT_PATHS_REGENERATE_H

#include <errno.h>

#include "number.h"

/**
 * struct dep_path - a path
 * @arc: the arc from ENTRY; it is dep_paths.entry_arc if a call of the function began the path
 * @first, @last: first and last block
 * @edges: number of edges between the blocks; there is one block more
 * @insns: instructions of the blocks
 * @end: the edge on which it ends; DEP_PATH_NONE for a partial path
 * @next: where the next path begins: the target of @end, which can be DEP_PATH_EXIT
 */
struct dep_path {
	u32 arc, first, last, edges, end, next;
	u64 insns;
};

/** dep_path_arc_for() - the arc of a vertex with the largest value that is at most @rest */
static inline u32 dep_path_arc_for(const struct dep_paths *p, u32 vertex, u64 rest)
{
	u32 low = p->first[vertex], high = p->first[vertex + 1], middle;

	/* The first arc has the value 0. */
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (p->arc[middle].value <= rest)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/**
 * dep_path_regenerate() - the path of a number
 * @edge: gets the numbers of the first @room edges; may be NULL if @room is 0
 *
 * A path has fewer edges than the graph has vertices.
 *
 * Return: 0; -EINVAL if there is no such path.
 */
int dep_path_regenerate(const struct dep_paths *p, u64 number, struct dep_path *path, u32 *edge,
			u32 room);

/**
 * dep_path_regenerate_partial() - the partial path that stops at block @at with the sum @sum
 *
 * Return: 0; -EINVAL if there is none.
 */
int dep_path_regenerate_partial(const struct dep_paths *p, u64 sum, u32 at, struct dep_path *path,
				u32 *edge, u32 room);

/**
 * struct dep_path_walk - a path that is being followed
 * @sum: values of the arcs so far
 * @at: the block at hand
 */
struct dep_path_walk {
	u64 sum;
	u32 at;
};

/** enum dep_path_step - what an edge was to a path; or -EINVAL */
enum dep_path_step {
	DEP_PATH_GOES_ON,
	DEP_PATH_LOOPED,	/* the edge is a self loop */
	DEP_PATH_ENDED,
};

/**
 * dep_path_enter() - begin a path
 * @called: at vertex 0: the function was called, and no back edge led there
 *
 * Return: 0; -EINVAL if no path begins at this vertex.
 */
int dep_path_enter(const struct dep_paths *p, struct dep_path_walk *walk, u32 vertex, bool called);

/**
 * dep_path_step() - follow an edge
 * @number: gets the number of the path if the edge ends it
 *
 * If the edge does not lead to the exit, the next path has begun then.
 *
 * Return: enum dep_path_step; -EINVAL if this is no edge of the block at hand.
 */
static inline int dep_path_step(const struct dep_paths *p, struct dep_path_walk *walk, u32 edge,
				u64 *number)
{
	const struct dep_path_edge *e;
	u32 arc;

	if (edge >= p->graph->edges)
		return -EINVAL;
	e = p->graph->edge + edge;
	if (e->from != walk->at)
		return -EINVAL;
	arc = p->arc_of[edge];
	if (arc == DEP_PATH_NONE)
		return p->class[edge] == DEP_PATH_SELF ? (int)DEP_PATH_LOOPED : -EINVAL;
	walk->sum += p->arc[arc].value;
	walk->at = e->to;
	if (p->arc[arc].to != p->exit)
		return DEP_PATH_GOES_ON;
	*number = walk->sum;
	if (e->to != DEP_PATH_EXIT)
		walk->sum = p->arc[p->head[e->to]].value;
	return DEP_PATH_ENDED;
}

/**
 * dep_path_number() - the number of a path of blocks
 * @block: blocks in the order of their execution; one that follows itself is a self loop
 * @called: see dep_path_enter()
 * @next: the block behind the edge that ends the path, or DEP_PATH_EXIT
 * @number: gets the number
 *
 * Return: 0; -EINVAL if these blocks are no path.
 */
int dep_path_number(const struct dep_paths *p, const u32 *block, u32 n, bool called, u32 next,
		    u64 *number);

/** dep_path_number_partial() - the sum of a path that stops at block[n - 1]; see there */
int dep_path_number_partial(const struct dep_paths *p, const u32 *block, u32 n, bool called,
			    u64 *sum);

#endif
