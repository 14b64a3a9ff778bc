// SPDX-License-Identifier: LGPL-2.1-or-later
/* Paths from their numbers, and numbers from blocks. */
#include "regenerate.h"

static int regenerate(const struct dep_paths *p, u64 rest, u32 stop, struct dep_path *path,
		      u32 *edge, u32 room)
{
	const struct dep_path_arc *arc;
	u32 at = dep_path_arc_for(p, p->entry, rest), v;

	*path = (struct dep_path){
		.arc = at, .first = p->arc[at].to, .end = DEP_PATH_NONE, .next = DEP_PATH_NONE,
	};
	for (;;) {
		arc = p->arc + at;
		rest -= arc->value;
		v = arc->to;
		if (v == p->exit)
			break;
		if (arc->edge != DEP_PATH_NONE) {
			if (path->edges < room)
				edge[path->edges] = arc->edge;
			path->edges++;
		}
		path->last = v;
		path->insns += p->graph->insns[v];
		if (v == stop)
			return rest ? -EINVAL : 0;
		at = dep_path_arc_for(p, v, rest);
	}
	if (rest || stop != DEP_PATH_NONE)
		return -EINVAL;
	path->end = arc->edge;
	path->next = dep_path_next(p, at);
	return 0;
}

int dep_path_regenerate(const struct dep_paths *p, u64 number, struct dep_path *path, u32 *edge,
			u32 room)
{
	if (number >= p->total)
		return -EINVAL;
	return regenerate(p, number, DEP_PATH_NONE, path, edge, room);
}

int dep_path_regenerate_partial(const struct dep_paths *p, u64 sum, u32 at, struct dep_path *path,
				u32 *edge, u32 room)
{
	/* The sum is the number of the whole path that goes on over arcs of the value 0. */
	if (sum >= p->total || at >= p->graph->vertices)
		return -EINVAL;
	return regenerate(p, sum, at, path, edge, room);
}

int dep_path_enter(const struct dep_paths *p, struct dep_path_walk *walk, u32 vertex, bool called)
{
	u32 arc;

	if (vertex >= p->graph->vertices || (called && vertex))
		return -EINVAL;
	arc = called ? p->entry_arc : p->head[vertex];
	if (arc == DEP_PATH_NONE)
		return -EINVAL;
	walk->at = vertex;
	walk->sum = p->arc[arc].value;
	return 0;
}

/* Follow edges between blocks; none may end a path. */
static int follow(const struct dep_paths *p, struct dep_path_walk *walk, const u32 *block, u32 n,
		  bool called)
{
	u64 number;
	int step;
	u32 i;

	if (!n || dep_path_enter(p, walk, block[0], called))
		return -EINVAL;
	for (i = 1; i < n; i++) {
		if (block[i] >= p->graph->vertices)
			return -EINVAL;
		step = dep_path_step(p, walk, dep_path_find_edge(p->graph, walk->at, block[i]),
				     &number);
		if (step != DEP_PATH_GOES_ON && step != DEP_PATH_LOOPED)
			return -EINVAL;
	}
	return 0;
}

int dep_path_number(const struct dep_paths *p, const u32 *block, u32 n, bool called, u32 next,
		    u64 *number)
{
	struct dep_path_walk walk;
	u32 edge;

	if (follow(p, &walk, block, n, called))
		return -EINVAL;
	edge = dep_path_find_edge(p->graph, walk.at, next);
	return dep_path_step(p, &walk, edge, number) == DEP_PATH_ENDED ? 0 : -EINVAL;
}

int dep_path_number_partial(const struct dep_paths *p, const u32 *block, u32 n, bool called,
			    u64 *sum)
{
	struct dep_path_walk walk;

	if (follow(p, &walk, block, n, called))
		return -EINVAL;
	*sum = walk.sum;
	return 0;
}
