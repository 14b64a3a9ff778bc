/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The depth-first search that finds back edges. */
#ifndef ADEPT_PATHS_SEARCH_H
#define ADEPT_PATHS_SEARCH_H

#include "graph.h"

/** enum dep_path_class - what an edge is to paths */
enum dep_path_class {
	DEP_PATH_UNREACHED,	/* no path reaches it */
	DEP_PATH_INNER,		/* a path goes on over it */
	DEP_PATH_END,		/* it leads to the exit */
	DEP_PATH_BACK,		/* a path ends on it, and another one begins at its target */
	DEP_PATH_CUT,		/* the same, because there would be too many paths */
	DEP_PATH_GIVEN,		/* the same, because of dep_path_graph_end_at() */
	DEP_PATH_SELF,		/* from a vertex to itself: it has a counter and ends no path */
};

/** dep_path_splits() - does a path end and another one begin on an edge of this class? */
static inline bool dep_path_splits(u8 class)
{
	return class == DEP_PATH_BACK || class == DEP_PATH_CUT || class == DEP_PATH_GIVEN;
}

/**
 * dep_path_search() - classify edges and order vertices
 * @class: gets the enum dep_path_class of each edge; all DEP_PATH_UNREACHED before
 * @order: gets the vertices that are reached, so that edges of DEP_PATH_INNER lead forwards
 * @entered: gets for each of them its place in the order in which the search entered vertices
 * @reached: gets their number
 *
 * The search begins at the entry, then at the other starts, then at targets of DEP_PATH_GIVEN, over
 * which it does not go.  An edge to a vertex on the search's stack is a back edge, in irreducible
 * graphs as well.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_path_search(const struct dep_path_graph *g, u8 *class, u32 *order, u32 *entered,
		    u32 *reached);

#endif
