// SPDX-License-Identifier: LGPL-2.1-or-later
/* Paths that edges predict, and edges that paths have executed. */
#include "predict.h"

/* Is the edge @a rather to be expected than @b, which stands before it? */
static bool likelier(const struct dep_path_graph *g, const u64 *count, u32 a, u32 b)
{
	u64 of_a = count ? count[a] : g->edge[a].weight;
	u64 of_b = count ? count[b] : g->edge[b].weight;

	if (of_a != of_b)
		return of_a > of_b;
	return g->edge[a].kind == DEP_PATH_TAKEN && g->edge[b].kind != DEP_PATH_TAKEN;
}

void dep_path_likely_edges(const struct dep_paths *p, const u64 *count, u32 *likely)
{
	const struct dep_path_graph *g = p->graph;
	u32 v, i, n, best;

	for (v = 0; v < g->vertices; v++) {
		best = DEP_PATH_NONE;
		for (i = g->first[v]; i < g->first[v + 1]; i++) {
			n = g->out[i];
			if (p->arc_of[n] == DEP_PATH_NONE)
				continue;
			if (best == DEP_PATH_NONE || likelier(g, count, n, best))
				best = n;
		}
		likely[v] = best;
	}
}

int dep_path_predict(const struct dep_paths *p, const u32 *likely, u32 vertex, bool called,
		     u64 *number)
{
	struct dep_path_walk walk;
	int step = dep_path_enter(p, &walk, vertex, called);

	while (step == DEP_PATH_GOES_ON)
		step = dep_path_step(p, &walk, likely[walk.at], number);
	return step < 0 ? step : 0;
}

static void add_length(struct dep_path_lengths *l, u64 edges, u64 insns, u64 count)
{
	l->edges = dep_add128_sat(l->edges, (u128)edges * count);
	l->insns = dep_add128_sat(l->insns, (u128)insns * count);
	if (edges > l->longest_edges)
		l->longest_edges = edges;
	if (insns > l->longest_insns)
		l->longest_insns = insns;
}

/**
 * struct steps - the edges of a path, one after the other
 * @rest: what is left of its number; @at: the block at hand
 */
struct steps {
	const struct dep_paths *p;
	u64 rest;
	u32 at;
};

/* The next edge of a path; the path ends on it if its class says so. */
static u32 next_edge(struct steps *s)
{
	u32 arc = dep_path_arc_for(s->p, s->at, s->rest);

	s->rest -= s->p->arc[arc].value;
	s->at = s->p->arc[arc].to;
	return s->p->arc[arc].edge;
}

static int first_block(struct steps *s, const struct dep_paths *p, u64 number)
{
	if (number >= p->total)
		return -EINVAL;
	*s = (struct steps){ .p = p, .rest = number, .at = p->entry };
	next_edge(s);
	return 0;
}

int dep_path_compare(const struct dep_paths *p, const u32 *likely, u64 number, u64 count,
		     struct dep_path_prediction *sum)
{
	u64 edges = 0, insns = 0, good_edges = 0, good_insns = 0;
	const struct dep_path_graph *g = p->graph;
	bool good = true;
	struct steps s;
	u32 v, edge;
	int err = first_block(&s, p, number);

	if (err)
		return err;
	do {
		v = s.at;
		insns += g->insns[v];
		if (good)
			good_insns = insns;
		edge = next_edge(&s);
		good = good && likely[v] == edge;
		if (g->edge[edge].to == DEP_PATH_EXIT)
			break;
		edges++;
		if (good)
			good_edges = edges;
	} while (s.at != p->exit);
	add_length(&sum->executed, edges, insns, count);
	add_length(&sum->predicted, good_edges, good_insns, count);
	sum->paths++;
	sum->executions = dep_add_sat(sum->executions, count);
	sum->whole += good;
	if (good)
		sum->whole_executions = dep_add_sat(sum->whole_executions, count);
	return 0;
}

static void add_to(u64 *counter, u32 n, u64 count)
{
	if (counter)
		counter[n] = dep_add_sat(counter[n], count);
}

int dep_path_count_edges(const struct dep_paths *p, u64 number, u64 count, u64 *edge, u64 *block)
{
	struct steps s;
	int err = first_block(&s, p, number);

	if (err)
		return err;
	do {
		add_to(block, s.at, count);
		add_to(edge, next_edge(&s), count);
	} while (s.at != p->exit);
	return 0;
}

int dep_path_count_partial(const struct dep_paths *p, u64 sum, u32 at, u64 count, u64 *edge,
			   u64 *block)
{
	struct dep_path path;
	struct steps s;
	int err = dep_path_regenerate_partial(p, sum, at, &path, NULL, 0);

	if (!err)
		err = first_block(&s, p, sum);
	if (err)
		return err;
	add_to(block, s.at, count);
	while (s.at != at) {
		add_to(edge, next_edge(&s), count);
		add_to(block, s.at, count);
	}
	return 0;
}
