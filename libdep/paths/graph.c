// SPDX-License-Identifier: LGPL-2.1-or-later
/* Graphs: built edge by edge, checked, and indexed. */
#include <errno.h>

#include "graph.h"

#define SMALLEST_ROOM	16u

void dep_path_graph_init(struct dep_path_graph *g, const struct dep_path_memory *memory)
{
	*g = (struct dep_path_graph){ .memory = memory };
}

void dep_path_graph_free(struct dep_path_graph *g)
{
	dep_path_arrays_free(g->memory, &g->edge_block);
	dep_path_arrays_free(g->memory, &g->insns_block);
	dep_path_arrays_free(g->memory, &g->start_block);
	dep_path_arrays_free(g->memory, &g->index_block);
	dep_path_graph_init(g, g->memory);
}

/**
 * grow() - make room for another element
 * @b: the block of the array
 * @pointer: address of the pointer to the array
 */
static int grow(const struct dep_path_memory *m, struct dep_path_block *b, void *pointer, u32 n,
		u32 *room, size_t size)
{
	struct dep_path_block more = { 0 };
	struct dep_path_array array = { pointer, 2ull * *room, size };
	int err;

	if (n < *room)
		return 0;
	if (!*room)
		array.n = SMALLEST_ROOM;
	err = dep_path_arrays(m, &more, &array, 1);
	if (err)
		return err;
	if (n)
		__builtin_memcpy(more.memory, b->memory, n * size);
	dep_path_arrays_free(m, b);
	*b = more;
	*room = (u32)array.n;
	return 0;
}

int dep_path_graph_vertex(struct dep_path_graph *g, u32 insns)
{
	int err;

	if (g->finished)
		return -EINVAL;
	if (g->vertices == DEP_PATH_VERTICES)
		return -E2BIG;
	err = grow(g->memory, &g->insns_block, &g->insns, g->vertices, &g->vertex_room,
		   sizeof(*g->insns));
	if (err)
		return err;
	g->insns[g->vertices] = insns;
	return (int)g->vertices++;
}

static int add_edge(struct dep_path_graph *g, u32 from, u32 to, enum dep_path_kind kind, u64 weight)
{
	int err;

	if (g->edges == DEP_PATH_EDGES)
		return -E2BIG;
	err = grow(g->memory, &g->edge_block, &g->edge, g->edges, &g->edge_room, sizeof(*g->edge));
	if (err)
		return err;
	g->edge[g->edges] = (struct dep_path_edge){
		.from = from, .to = to, .weight = weight, .kind = (u8)kind,
	};
	return (int)g->edges++;
}

int dep_path_graph_edge(struct dep_path_graph *g, u32 from, u32 to, enum dep_path_kind kind,
			u64 weight)
{
	if (g->finished || from >= g->vertices || (unsigned int)kind >= DEP_PATH_KINDS)
		return -EINVAL;
	if (kind >= DEP_PATH_RETURN ? to != DEP_PATH_EXIT : to >= g->vertices)
		return -EINVAL;
	return add_edge(g, from, to, kind, weight);
}

int dep_path_graph_end_at(struct dep_path_graph *g, u32 edge)
{
	if (g->finished || edge >= g->edges)
		return -EINVAL;
	g->edge[edge].ends = 1;
	return 0;
}

static int add_start(struct dep_path_graph *g, u32 vertex, u64 weight)
{
	int err = grow(g->memory, &g->start_block, &g->start, g->starts, &g->start_room,
		       sizeof(*g->start));

	if (!err)
		g->start[g->starts++] = (struct dep_path_start){ vertex, weight };
	return err;
}

int dep_path_graph_start(struct dep_path_graph *g, u32 vertex, u64 weight)
{
	int err;

	if (g->finished || vertex >= g->vertices)
		return -EINVAL;
	/* The list keeps what was added twice until the graph is finished. */
	if (g->starts >= 2 * DEP_PATH_VERTICES)
		return -E2BIG;
	err = g->starts ? 0 : add_start(g, 0, 0);
	if (err)
		return err;
	if (!vertex) {
		g->start[0].weight = dep_add_sat(g->start[0].weight, weight);
		return 0;
	}
	return add_start(g, vertex, weight);
}

/* Put each start into the list once; @at: room for a number per vertex, all 0. */
static void merge_starts(struct dep_path_graph *g, u32 *at)
{
	struct dep_path_start *s;
	u32 i, n = 0;

	for (i = 0; i < g->starts; i++) {
		s = g->start + i;
		if (at[s->vertex]) {
			struct dep_path_start *old = g->start + at[s->vertex] - 1;

			old->weight = dep_add_sat(old->weight, s->weight);
			continue;
		}
		g->start[n] = *s;
		at[s->vertex] = ++n;
	}
	g->starts = n;
}

/* Give vertices from which nothing leads away an edge to the exit; @leads: all false. */
static int end_dead_ends(struct dep_path_graph *g, u8 *leads)
{
	u32 i;
	int err;

	for (i = 0; i < g->edges; i++)
		if (g->edge[i].to != g->edge[i].from)
			leads[g->edge[i].from] = 1;
	for (i = 0; i < g->vertices; i++) {
		if (leads[i])
			continue;
		err = add_edge(g, i, DEP_PATH_EXIT, DEP_PATH_UNKNOWN, 0);
		if (err < 0)
			return err;
	}
	return 0;
}

/**
 * sort_by() - sort edges by one of their ends, stably, by counting
 * @list: edges to sort, or NULL for all in order of their numbers
 * @first: room for @g->vertices + 2 numbers, all 0; gets the first place of each vertex
 */
static void sort_by(const struct dep_path_graph *g, const u32 *list, u32 *out, u32 *first, bool to)
{
	const struct dep_path_edge *e;
	u32 i, key, sum = 0, n;

	for (i = 0; i < g->edges; i++) {
		e = g->edge + i;
		key = !to ? e->from : e->to == DEP_PATH_EXIT ? g->vertices : e->to;
		first[key]++;
	}
	for (i = 0; i < g->vertices + 2; i++) {
		n = first[i];
		first[i] = sum;
		sum += n;
	}
	for (i = 0; i < g->edges; i++) {
		n = list ? list[i] : i;
		e = g->edge + n;
		key = !to ? e->from : e->to == DEP_PATH_EXIT ? g->vertices : e->to;
		out[first[key]++] = n;
	}
	/* Each entry is now the end of its vertex, which is where the next one begins. */
	for (i = g->vertices + 1; i; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

/* Is there a second edge between the same vertices? */
static bool has_duplicate(const struct dep_path_graph *g)
{
	const struct dep_path_edge *a, *b;
	u32 i;

	for (i = 1; i < g->edges; i++) {
		a = g->edge + g->by_target[i - 1];
		b = g->edge + g->by_target[i];
		if (a->from == b->from && a->to == b->to)
			return true;
	}
	return false;
}

int dep_path_graph_finish(struct dep_path_graph *g)
{
	u32 *sorted, *count, *at, n = g->vertices;
	struct dep_path_block temporary = { 0 };
	u8 *leads;
	int err;

	if (g->finished || !n)
		return -EINVAL;
	err = g->starts ? 0 : add_start(g, 0, 0);
	if (err)
		return err;
	/* Each vertex may get another edge. */
	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(sorted, (u64)g->edges + n), DEP_PATH_ARRAY(count, n + 2),
			DEP_PATH_ARRAY(at, n), DEP_PATH_ARRAY(leads, n),
		}, 4);
	if (err)
		return err;
	merge_starts(g, at);
	err = end_dead_ends(g, leads);
	if (err)
		goto out;
	err = dep_path_arrays(g->memory, &g->index_block, (struct dep_path_array[]){
			DEP_PATH_ARRAY(g->first, n + 2), DEP_PATH_ARRAY(g->out, g->edges),
			DEP_PATH_ARRAY(g->by_target, g->edges),
		}, 3);
	if (err)
		goto out;
	sort_by(g, NULL, g->out, g->first, false);
	sort_by(g, NULL, sorted, count, true);
	__builtin_memset(count, 0, (n + 2) * sizeof(*count));
	sort_by(g, sorted, g->by_target, count, false);
	err = has_duplicate(g) ? -EINVAL : 0;
	g->finished = !err;
out:
	dep_path_arrays_free(g->memory, &temporary);
	return err;
}

u32 dep_path_find_edge(const struct dep_path_graph *g, u32 from, u32 to)
{
	u32 low, high, middle;

	if (!g->finished || from >= g->vertices)
		return DEP_PATH_NONE;
	low = g->first[from];
	high = g->first[from + 1];
	while (low < high) {
		middle = low + (high - low) / 2;
		if (g->edge[g->by_target[middle]].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == g->first[from + 1] || g->edge[g->by_target[low]].to != to)
		return DEP_PATH_NONE;
	return g->by_target[low];
}
