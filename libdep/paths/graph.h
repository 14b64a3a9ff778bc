/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control flow graph of a function, as path profiling needs it.
 *
 * Vertices are basic blocks 0 to n - 1; vertex 0 is the function's entry.  An edge leads to a
 * vertex or to DEP_PATH_EXIT, where the function ends.  The caller gives the edges of a vertex in
 * the order in which the depth-first search is to follow them: fall-through, taken, then targets of
 * indirect jumps by address.  With the same order of blocks and edges everything here is
 * deterministic.
 *
 * Two edges between the same vertices are an error, whatever their kinds: a path is its blocks, and
 * such edges would make two paths of the same blocks.
 */
#ifndef ADEPT_PATHS_GRAPH_H
#define ADEPT_PATHS_GRAPH_H

#include "memory.h"

#define DEP_PATH_VERTICES	(1u << 20)	/* most vertices of a graph */
#define DEP_PATH_EDGES		(1u << 22)	/* most edges */
#define DEP_PATH_EXIT		UINT32_MAX	/* as the target of an edge: the function ends */
#define DEP_PATH_NONE		UINT32_MAX	/* as the number of an edge or arc: none */

/** enum dep_path_kind - kinds of edges; those from DEP_PATH_RETURN on lead to DEP_PATH_EXIT */
enum dep_path_kind {
	DEP_PATH_FALL_THROUGH,	/* also a direct jump, and what follows a call */
	DEP_PATH_TAKEN,
	DEP_PATH_INDIRECT,
	DEP_PATH_RETURN,
	DEP_PATH_TAIL_CALL,
	DEP_PATH_ENDS,		/* exit(), execve() and the like */
	DEP_PATH_UNKNOWN,	/* it is not known what follows */
	DEP_PATH_KINDS,
};

/**
 * struct dep_path_edge - an edge
 * @kind: enum dep_path_kind
 * @weight: how often it was executed; 0 if that is not known
 * @ends: see dep_path_graph_end_at()
 */
struct dep_path_edge {
	u32 from, to;
	u64 weight;
	u8 kind, ends;
};

/**
 * struct dep_path_start - a vertex where paths begin, other than behind a back edge
 * @weight: how often
 */
struct dep_path_start {
	u32 vertex;
	u64 weight;
};

/**
 * struct dep_path_graph - a graph
 * @start: the entry first, then vertices that are entered from outside
 * @insns: number of instructions of each vertex
 *
 * After dep_path_graph_finish():
 * @first: the edges of vertex v are those at @first[v] to @first[v + 1] - 1 of the two lists
 * @out: edges in the order of the search
 * @by_target: edges by target
 */
struct dep_path_graph {
	const struct dep_path_memory *memory;
	struct dep_path_edge *edge;
	u32 *insns;
	struct dep_path_start *start;
	u32 vertices, edges, starts;
	u32 *first, *out, *by_target;
	bool finished;

	/* private: */
	struct dep_path_block edge_block, insns_block, start_block, index_block;
	u32 edge_room, vertex_room, start_room;
};

/** dep_path_graph_init() - an empty graph; it has no memory yet */
void dep_path_graph_init(struct dep_path_graph *g, const struct dep_path_memory *memory);
void dep_path_graph_free(struct dep_path_graph *g);

/**
 * dep_path_graph_vertex() - add a vertex of @insns instructions
 *
 * Return: its number; -EINVAL if the graph is finished; -E2BIG if it has DEP_PATH_VERTICES;
 * -ENOMEM.
 */
int dep_path_graph_vertex(struct dep_path_graph *g, u32 insns);

/**
 * dep_path_graph_edge() - add an edge
 *
 * The vertices must exist.
 *
 * Return: its number; -EINVAL if a vertex does not exist, the kind does not fit the target, or the
 * graph is finished; -E2BIG if it has DEP_PATH_EDGES; -ENOMEM.
 */
int dep_path_graph_edge(struct dep_path_graph *g, u32 from, u32 to, enum dep_path_kind kind,
			u64 weight);

/**
 * dep_path_graph_end_at() - say that paths end on an edge, as they do on back edges
 *
 * For profiles whose paths end at indirect jumps, say, or at all jumps to lower addresses, which
 * are known while the graph is not.  Self loops and edges to the exit stay what they are.
 *
 * Return: 0; -EINVAL if there is no such edge or the graph is finished.
 */
int dep_path_graph_end_at(struct dep_path_graph *g, u32 edge);

/**
 * dep_path_graph_start() - say that paths begin at a vertex
 *
 * Vertex 0 is a start anyway.  Others are those to which longjmp(), an exception or a jump from
 * another function leads, or where recording began.  Weights of calls for one vertex are added.
 *
 * Return: 0; -EINVAL if the vertex does not exist or the graph is finished; -E2BIG after twice
 * DEP_PATH_VERTICES calls; -ENOMEM.
 */
int dep_path_graph_start(struct dep_path_graph *g, u32 vertex, u64 weight);

/**
 * dep_path_graph_finish() - check the graph and sort its edges
 *
 * A vertex without an edge to another vertex or to the exit gets an edge of the kind
 * DEP_PATH_UNKNOWN to the exit.
 *
 * Return: 0; -EINVAL if there is no vertex or an edge exists twice; -E2BIG; -ENOMEM.  After an
 * error the graph can only be freed.
 */
int dep_path_graph_finish(struct dep_path_graph *g);

/**
 * dep_path_find_edge() - the edge from @from to @to, a vertex or DEP_PATH_EXIT
 *
 * Return: its number or DEP_PATH_NONE.  Takes time by the logarithm of the vertex's edges.
 */
u32 dep_path_find_edge(const struct dep_path_graph *g, u32 from, u32 to);

#endif
