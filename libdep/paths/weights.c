// SPDX-License-Identifier: LGPL-2.1-or-later
/* Weights of arcs. */
#include "loops.h"
#include "weights.h"

#define CALLS		((u64)1 << 20)	/* guessed calls of the function */
#define OTHER_STARTS	((u64)1 << 10)	/* guessed executions of each other start */
#define ITERATIONS	10u		/* guessed iterations of a loop */
#define MOST_LEVELS	64u		/* of loops that an edge leaves or enters, at most */

void dep_path_measured_weights(const struct dep_paths *p, const u64 *count, u64 entered,
			       u64 *weight)
{
	const struct dep_path_graph *g = p->graph;
	u32 i, arc;
	u64 n;

	for (i = 0; i < p->arcs; i++)
		weight[i] = 0;
	weight[p->entry_arc] = entered;
	for (i = 1; i < g->starts; i++)
		weight[p->head[g->start[i].vertex]] = g->start[i].weight;
	for (i = 0; i < g->edges; i++) {
		if (p->arc_of[i] == DEP_PATH_NONE)
			continue;
		n = count ? count[i] : g->edge[i].weight;
		weight[p->arc_of[i]] = n;
		if (!dep_path_splits(p->class[i]))
			continue;
		arc = p->head[g->edge[i].to];
		weight[arc] = dep_add_sat(weight[arc], n);
	}
}

/**
 * struct guess - static weights while they are worked out
 * @loop, @head: see dep_path_loops(); @depth: loops around a head, itself included
 * @exits: number of edges that leave the loop of a head
 * @entering: what enters it
 * @vertex: executions of each vertex
 * @count: executions of each edge
 */
struct guess {
	const struct dep_paths *p;
	u32 *loop, *depth, *exits;
	u64 *entering, *vertex, *count;
	u8 *head;
};

/* The head of the innermost loop that has the vertex, which may be the head. */
static u32 loop_of(const struct guess *s, u32 v)
{
	if (v == DEP_PATH_EXIT)
		return DEP_PATH_NONE;
	return s->head[v] ? v : s->loop[v];
}

static u32 depth_of(const struct guess *s, u32 head)
{
	return head == DEP_PATH_NONE ? 0 : s->depth[head];
}

/* The head of the outermost loop that an edge leaves, or DEP_PATH_NONE. */
static u32 loop_left(const struct guess *s, u32 edge)
{
	const struct dep_path_edge *e = s->p->graph->edge + edge;
	u32 from = loop_of(s, e->from), to = loop_of(s, e->to), left = DEP_PATH_NONE, i;

	for (i = 0; from != to && i < MOST_LEVELS; i++)
		if (depth_of(s, from) >= depth_of(s, to)) {
			left = from;
			from = s->loop[from];
		} else {
			to = s->loop[to];
		}
	return left;
}

/* What enters the loop leaves by each of its exits in equal shares. */
static u64 share_of_exit(const struct guess *s, u32 head)
{
	return s->entering[head] / s->exits[head];
}

static void guess_edges(struct guess *s, u32 v)
{
	const struct dep_path_graph *g = s->p->graph;
	u64 left, leaving = 0, n;
	u32 i, edge, head, others = 0;

	/* A vertex that the search found over no other edge than DEP_PATH_GIVEN. */
	if (!s->vertex[v])
		s->vertex[v] = OTHER_STARTS;
	if (s->head[v]) {
		s->entering[v] = s->vertex[v];
		s->vertex[v] = dep_mul_sat(s->vertex[v], ITERATIONS);
	}
	for (i = g->first[v]; i < g->first[v + 1]; i++) {
		head = loop_left(s, g->out[i]);
		if (s->p->class[g->out[i]] == DEP_PATH_SELF)
			continue;
		if (head == DEP_PATH_NONE)
			others++;
		else
			leaving = dep_add_sat(leaving, share_of_exit(s, head));
	}
	left = s->vertex[v] > leaving ? s->vertex[v] - leaving : 0;
	for (i = g->first[v]; i < g->first[v + 1]; i++) {
		edge = g->out[i];
		if (s->p->class[edge] == DEP_PATH_SELF)
			continue;
		head = loop_left(s, edge);
		n = head == DEP_PATH_NONE ? left / others : share_of_exit(s, head);
		s->count[edge] = n;
		if (s->p->class[edge] == DEP_PATH_INNER || s->p->class[edge] == DEP_PATH_CUT)
			s->vertex[g->edge[edge].to] = dep_add_sat(s->vertex[g->edge[edge].to], n);
	}
}

/* Depths of loops, outer ones first, and the edges that leave each. */
static void count_exits(struct guess *s)
{
	const struct dep_paths *p = s->p;
	u32 i, v, head;

	for (i = 0; i < p->reached; i++) {
		v = p->order[i];
		if (s->head[v])
			s->depth[v] = depth_of(s, s->loop[v]) + 1;
	}
	for (i = 0; i < p->graph->edges; i++) {
		if (p->class[i] == DEP_PATH_UNREACHED || p->class[i] == DEP_PATH_SELF)
			continue;
		head = loop_left(s, i);
		if (head != DEP_PATH_NONE)
			s->exits[head]++;
	}
}

int dep_path_static_weights(const struct dep_paths *p, u64 *weight)
{
	const struct dep_path_graph *g = p->graph;
	struct guess s = { .p = p };
	struct dep_path_block temporary = { 0 };
	u32 i, n = g->vertices;
	int err;

	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(s.loop, n), DEP_PATH_ARRAY(s.depth, n),
			DEP_PATH_ARRAY(s.exits, n), DEP_PATH_ARRAY(s.entering, n),
			DEP_PATH_ARRAY(s.vertex, n), DEP_PATH_ARRAY(s.head, n),
			DEP_PATH_ARRAY(s.count, g->edges),
		}, 7);
	if (err)
		return err;
	err = dep_path_loops(p, s.loop, s.head);
	if (err)
		goto out;
	count_exits(&s);
	for (i = 1; i < g->starts; i++)
		s.vertex[g->start[i].vertex] = OTHER_STARTS;
	s.vertex[0] = CALLS;
	for (i = 0; i < p->reached; i++)
		guess_edges(&s, p->order[i]);
	dep_path_measured_weights(p, s.count, CALLS, weight);
out:
	dep_path_arrays_free(g->memory, &temporary);
	return err;
}
