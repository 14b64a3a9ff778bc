// SPDX-License-Identifier: LGPL-2.1-or-later
/* Numbers of paths: cuts, the acyclic graph and the values of its arcs. */
#include <errno.h>

#include "number.h"
#include "sort.h"

void dep_paths_free(struct dep_paths *p)
{
	dep_path_arrays_free(p->graph->memory, &p->vertex_block);
	dep_path_arrays_free(p->graph->memory, &p->arc_block);
}

/* Ways to EXIT over an edge, where those of its target are known. */
static u64 ways_over(const struct dep_paths *p, u32 edge)
{
	switch (p->class[edge]) {
	case DEP_PATH_INNER:
		return p->paths[p->graph->edge[edge].to];
	case DEP_PATH_END:
	case DEP_PATH_BACK:
	case DEP_PATH_CUT:
	case DEP_PATH_GIVEN:
		return 1;
	default:
		return 0;
	}
}

/* Count the ways from a vertex to EXIT, and cut its edges if there are more than @limit. */
static void count_ways(struct dep_paths *p, u32 v, u64 limit)
{
	const struct dep_path_graph *g = p->graph;
	u32 i, inner = 0, leaving = 0;
	u128 sum = 0;
	u8 *class;

	for (i = g->first[v]; i < g->first[v + 1]; i++) {
		sum += ways_over(p, g->out[i]);
		inner += p->class[g->out[i]] == DEP_PATH_INNER;
		leaving += p->class[g->out[i]] != DEP_PATH_SELF;
	}
	if (sum > limit && inner) {
		for (i = g->first[v]; i < g->first[v + 1]; i++) {
			class = p->class + g->out[i];
			if (*class == DEP_PATH_INNER)
				*class = DEP_PATH_CUT;
		}
		p->cut_vertices++;
		sum = leaving;
	}
	p->paths[v] = (u64)sum;
}

/* Mark the vertices to which ENTRY has another arc; returns the number of paths. */
static u128 mark_heads(struct dep_paths *p)
{
	const struct dep_path_graph *g = p->graph;
	u128 total = p->paths[0];
	u32 i;

	for (i = 0; i < g->vertices; i++)
		p->head[i] = DEP_PATH_NONE;
	for (i = 1; i < g->starts; i++)
		p->head[g->start[i].vertex] = 0;
	for (i = 0; i < g->edges; i++)
		if (dep_path_splits(p->class[i]))
			p->head[g->edge[i].to] = 0;
	p->heads = 0;
	for (i = 0; i < g->vertices; i++)
		if (p->head[i] != DEP_PATH_NONE) {
			p->heads++;
			total += p->paths[i];
		}
	return total;
}

static void undo_cuts(struct dep_paths *p)
{
	u32 i;

	p->cut_vertices = 0;
	for (i = 0; i < p->graph->edges; i++)
		if (p->class[i] == DEP_PATH_CUT)
			p->class[i] = DEP_PATH_INNER;
}

/*
 * Count the paths, and cut so that there are not more than @limit.
 *
 * The paths from ENTRY are those of all heads together, and ENTRY cannot be cut.  If they are too
 * many, fewer paths are allowed for each vertex: at most half as many, and fewer by the same power
 * of two by which there were too many.
 */
static int count_paths(struct dep_paths *p, u64 limit)
{
	u64 of_vertex = limit;
	u128 total;
	u32 i;

	for (;;) {
		undo_cuts(p);
		for (i = p->reached; i--; )
			count_ways(p, p->order[i], of_vertex);
		total = mark_heads(p);
		if (total <= limit) {
			p->total = (u64)total;
			p->truncated = p->cut_vertices != 0;
			return 0;
		}
		if (of_vertex == 1)
			return -ERANGE;
		of_vertex /= 2;
		for (total /= 4; total > limit && of_vertex > 1; total /= 2)
			of_vertex /= 2;
	}
}

/* Paths without cuts. */
static int count_potential(struct dep_paths *p)
{
	const struct dep_path_graph *g = p->graph;
	struct dep_path_block temporary = { 0 };
	u128 *ways, sum;
	u8 *head;
	u32 i, j, v, n;
	int err;

	p->potential = p->total;
	if (!p->truncated)
		return 0;
	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(ways, g->vertices), DEP_PATH_ARRAY(head, g->vertices),
		}, 2);
	if (err)
		return err;
	for (i = 1; i < g->starts; i++)
		head[g->start[i].vertex] = 1;
	for (i = p->reached; i--; ) {
		v = p->order[i];
		for (j = g->first[v], sum = 0; j < g->first[v + 1]; j++) {
			n = g->out[j];
			if (p->class[n] == DEP_PATH_INNER || p->class[n] == DEP_PATH_CUT)
				sum = dep_add128_sat(sum, ways[g->edge[n].to]);
			else if (p->class[n] != DEP_PATH_SELF)
				sum = dep_add128_sat(sum, 1);
			if (p->class[n] == DEP_PATH_BACK || p->class[n] == DEP_PATH_GIVEN)
				head[g->edge[n].to] = 1;
		}
		ways[v] = sum;
	}
	p->potential = ways[0];
	for (i = 0; i < g->vertices; i++)
		if (head[i])
			p->potential = dep_add128_sat(p->potential, ways[i]);
	dep_path_arrays_free(g->memory, &temporary);
	return 0;
}

/**
 * struct lists - what the arcs of one vertex are sorted in
 */
struct lists {
	struct dep_keyed *list, *other;
};

/* Add the arcs of a vertex in the order of the list, each with the value that it gets. */
static void add_arcs(struct dep_paths *p, u32 from, const struct lists *l, u32 n, bool given_order)
{
	const struct dep_path_graph *g = p->graph;
	struct dep_path_arc *arc;
	u64 value = 0;
	u32 i, at;

	if (!given_order)
		dep_sort_falling(l->list, l->other, n);
	for (i = 0; i < n; i++) {
		at = p->arcs++;
		arc = p->arc + at;
		*arc = (struct dep_path_arc){ .value = value, .from = from, .edge = l->list[i].n };
		value += l->list[i].key;
		arc->to = p->class[arc->edge] == DEP_PATH_INNER ? g->edge[arc->edge].to : p->exit;
		p->arc_of[arc->edge] = at;
	}
}

/* Add the arcs from ENTRY.  The lists have vertices here; the entry comes first. */
static void add_entry_arcs(struct dep_paths *p, const struct lists *l, bool given_order)
{
	u32 i, n = 0, v;
	u64 value = 0;

	/* The number of no vertex, so that vertex 0 can be in the list twice. */
	dep_keyed_add(l->list, &n, p->paths[0], p->entry);
	for (i = 0; i < p->graph->vertices; i++)
		if (p->head[i] != DEP_PATH_NONE)
			dep_keyed_add(l->list, &n, p->paths[i], i);
	if (!given_order)
		dep_sort_falling(l->list, l->other, n);
	for (i = 0; i < n; i++) {
		v = l->list[i].n;
		if (v == p->entry)
			p->entry_arc = p->arcs;
		else
			p->head[v] = p->arcs;
		p->arc[p->arcs++] = (struct dep_path_arc){
			.value = value, .from = p->entry, .to = v == p->entry ? 0 : v,
			.edge = DEP_PATH_NONE,
		};
		value += l->list[i].key;
	}
}

/* Count what the caller may want to know, and the arcs; returns the arcs of the largest list. */
static u32 count_arcs(struct dep_paths *p, u32 *arcs)
{
	const struct dep_path_graph *g = p->graph;
	u32 i, v, largest = p->heads + 1, n;

	*arcs = largest;
	for (i = 0; i < g->edges; i++) {
		p->arc_of[i] = DEP_PATH_NONE;
		p->back_edges += p->class[i] == DEP_PATH_BACK;
		p->self_loops += p->class[i] == DEP_PATH_SELF;
		*arcs += p->class[i] != DEP_PATH_SELF && p->class[i] != DEP_PATH_UNREACHED;
	}
	for (v = 0; v < g->vertices; v++) {
		n = g->first[v + 1] - g->first[v];
		if (n > largest)
			largest = n;
	}
	return largest;
}

static int make_arcs(struct dep_paths *p, bool given_order)
{
	const struct dep_path_graph *g = p->graph;
	struct dep_path_block temporary = { 0 };
	u32 arcs, largest = count_arcs(p, &arcs), v, i, n;
	struct lists l;
	int err;

	err = dep_path_arrays(g->memory, &p->arc_block, (struct dep_path_array[]){
			DEP_PATH_ARRAY(p->arc, arcs), DEP_PATH_ARRAY(p->first, g->vertices + 2),
		}, 2);
	if (err)
		return err;
	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(l.list, largest), DEP_PATH_ARRAY(l.other, largest),
		}, 2);
	if (err)
		return err;
	for (v = 0; v < g->vertices; v++) {
		p->first[v] = p->arcs;
		for (i = g->first[v], n = 0; i < g->first[v + 1]; i++)
			if (ways_over(p, g->out[i]))
				dep_keyed_add(l.list, &n, ways_over(p, g->out[i]), g->out[i]);
		add_arcs(p, v, &l, n, given_order);
	}
	p->first[v] = p->arcs;
	add_entry_arcs(p, &l, given_order);
	p->first[v + 1] = p->arcs;
	dep_path_arrays_free(g->memory, &temporary);
	return 0;
}

int dep_paths_number(struct dep_paths *p, const struct dep_path_graph *g,
		     const struct dep_path_options *options)
{
	int err;

	*p = (struct dep_paths){ .graph = g };
	if (!g->finished || !options->limit || options->limit > DEP_PATH_LIMIT)
		return -EINVAL;
	p->entry = g->vertices;
	p->exit = g->vertices + 1;
	err = dep_path_arrays(g->memory, &p->vertex_block, (struct dep_path_array[]){
			DEP_PATH_ARRAY(p->paths, g->vertices), DEP_PATH_ARRAY(p->head, g->vertices),
			DEP_PATH_ARRAY(p->order, g->vertices), DEP_PATH_ARRAY(p->arc_of, g->edges),
			DEP_PATH_ARRAY(p->entered, g->vertices),
			DEP_PATH_ARRAY(p->class, g->edges),
		}, 6);
	if (!err)
		err = dep_path_search(g, p->class, p->order, p->entered, &p->reached);
	if (!err)
		err = count_paths(p, options->limit);
	if (!err)
		err = count_potential(p);
	if (!err)
		err = make_arcs(p, options->given_order);
	if (err)
		dep_paths_free(p);
	return err;
}
