/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers of paths, after Ball and Larus, "Efficient Path Profiling" (MICRO-29, 1996).
 *
 * The graph becomes acyclic: a back edge v->w is replaced by v->EXIT and ENTRY->w.  A path is a way
 * from ENTRY to EXIT in the acyclic graph, whose edges are called arcs here:
 *
 *	      ENTRY --+             ENTRY has an arc to vertex 0, and one to each vertex to which a
 *	        |     |             back edge or a cut edge leads, or which is another start.
 *	        v     |
 *	+-----> 0     |             Four classes of paths: from the entry or from the head of a
 *	|       |     |             loop (or another such vertex), to the exit or to a back edge
 *	|       v     v             (or a cut edge).
 *	|       1 <---+
 *	|      / \
 *	+---- 2   3 --+
 *	      |       |
 *	      +-> EXIT              EXIT has an arc for each edge on which a path ends.
 *
 * Each arc has a value.  The values on a path add up to the path's number, and the numbers are 0 to
 * n - 1, each once.
 *
 * There are two differences from the paper.  ENTRY and EXIT are no blocks of the function, because
 * its first block can be the head of a loop.  Each back edge has an arc to EXIT of its own, where
 * the paper has one for all back edges of a block.  The number then says on which edge a path
 * ended, so the counts of all edges follow from the counts of paths.
 */
#ifndef ADEPT_PATHS_NUMBER_H
#define ADEPT_PATHS_NUMBER_H

#include "graph.h"
#include "search.h"

#define DEP_PATH_LIMIT		((u64)1 << 62)	/* most paths of a function in a profile */
#define DEP_PATH_ENGINE_LIMIT	((u64)1 << 31)	/* the same if the engine counts them */

/**
 * struct dep_path_options - how to number
 * @limit: largest number of paths of the function: 1 to DEP_PATH_LIMIT.  Where more paths go
 *	through a vertex, its edges are cut: they are treated as back edges.
 * @given_order: numbers follow the order of the edges.  Without it the edge behind which there are
 *	most paths comes first and adds 0, which keeps values small.  Edges with equally many paths
 *	stay in their order, so that numbers depend on the graph alone in both cases.  Which edges
 *	are back edges does not depend on this.
 */
struct dep_path_options {
	u64 limit;
	bool given_order;
};

/**
 * struct dep_path_arc - an edge of the acyclic graph
 * @value: what it adds to the number of a path
 * @from: a vertex, or dep_paths.entry
 * @to: a vertex, or dep_paths.exit
 * @edge: the edge of the graph; DEP_PATH_NONE if @from is ENTRY
 */
struct dep_path_arc {
	u64 value;
	u32 from, to, edge;
};

/**
 * struct dep_paths - the numbered paths of a graph
 * @graph: must stay as it is
 * @entry, @exit: ENTRY and EXIT as vertices of arcs
 * @arc: the arcs of vertex v are those at @first[v] to @first[v + 1] - 1, values rising; ENTRY is
 *	the last vertex that has arcs
 * @class: enum dep_path_class of each edge
 * @arc_of: the arc of each edge; DEP_PATH_NONE for self loops and unreached ones
 * @head: for each vertex, the arc from ENTRY that paths behind back edges and other starts take;
 *	DEP_PATH_NONE if there is none
 * @entry_arc: the arc from ENTRY to vertex 0 that calls of the function take
 * @order: the @reached vertices, so that arcs lead forwards
 * @entered: for each of them, its place in the order in which the search entered vertices
 * @paths: for each vertex, number of ways from it to EXIT
 * @total: number of paths: numbers are 0 to @total - 1
 * @potential: number of paths without DEP_PATH_CUT; all bits set if it is larger
 * @truncated: edges were cut
 */
struct dep_paths {
	const struct dep_path_graph *graph;
	struct dep_path_arc *arc;
	u32 arcs, entry, exit, entry_arc, reached;
	u32 *first, *arc_of, *head, *order, *entered;
	u64 *paths;
	u8 *class;
	u64 total;
	u128 potential;
	u32 back_edges, self_loops, heads, cut_vertices;
	bool truncated;

	/* private: */
	struct dep_path_block vertex_block, arc_block;
};

/**
 * dep_paths_number() - number the paths of a finished graph
 *
 * Return: 0; -EINVAL for a graph that is not finished or a limit out of range; -ERANGE if the limit
 * is too small even with all edges cut, which needs a limit below twice the number of edges plus
 * starts; -ENOMEM.
 */
int dep_paths_number(struct dep_paths *p, const struct dep_path_graph *g,
		     const struct dep_path_options *options);
void dep_paths_free(struct dep_paths *p);

/** dep_path_next() - the vertex at which a path begins behind an arc to EXIT, or DEP_PATH_EXIT */
static inline u32 dep_path_next(const struct dep_paths *p, u32 arc)
{
	return p->graph->edge[p->arc[arc].edge].to;
}

#endif
