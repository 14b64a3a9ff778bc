// SPDX-License-Identifier: LGPL-2.1-or-later
/* Depth-first search with a stack of its own. */
#include "search.h"

/* What the search knows of a vertex. */
enum { NEW, ON_STACK, DONE };

/**
 * struct search - a search
 * @stack: vertices from a start to the one at hand
 * @later: vertices to begin at later; @listed: is a vertex among them?
 * @next: for each vertex, the place of its next edge in dep_path_graph.out
 * @place: order[place] is the vertex that was left last; vertices are put in from the end
 */
struct search {
	const struct dep_path_graph *graph;
	u8 *class, *state, *listed;
	u32 *order, *entered, *stack, *next, *later;
	u32 place, entries, laters;
};

static void enter(struct search *s, u32 v, u32 *depth)
{
	s->stack[(*depth)++] = v;
	s->state[v] = ON_STACK;
	s->next[v] = s->graph->first[v];
	s->entered[v] = s->entries++;
}

static enum dep_path_class class_of(const struct search *s, const struct dep_path_edge *e)
{
	if (e->to == DEP_PATH_EXIT)
		return DEP_PATH_END;
	if (e->to == e->from)
		return DEP_PATH_SELF;
	if (e->ends)
		return DEP_PATH_GIVEN;
	return s->state[e->to] == ON_STACK ? DEP_PATH_BACK : DEP_PATH_INNER;
}

static void begin_later(struct search *s, u32 v)
{
	if (s->listed[v])
		return;
	s->listed[v] = 1;
	s->later[s->laters++] = v;
}

static void search_from(struct search *s, u32 start)
{
	const struct dep_path_graph *g = s->graph;
	const struct dep_path_edge *e;
	u32 depth = 0, v, n;

	if (s->state[start] != NEW)
		return;
	enter(s, start, &depth);
	while (depth) {
		v = s->stack[depth - 1];
		if (s->next[v] == g->first[v + 1]) {
			s->state[v] = DONE;
			s->order[--s->place] = v;
			depth--;
			continue;
		}
		n = g->out[s->next[v]++];
		e = g->edge + n;
		s->class[n] = (u8)class_of(s, e);
		if (s->class[n] == DEP_PATH_INNER && s->state[e->to] == NEW)
			enter(s, e->to, &depth);
		else if (s->class[n] == DEP_PATH_GIVEN)
			begin_later(s, e->to);
	}
}

int dep_path_search(const struct dep_path_graph *g, u8 *class, u32 *order, u32 *entered,
		    u32 *reached)
{
	struct search s = { .graph = g, .class = class, .order = order, .entered = entered,
			    .place = g->vertices };
	struct dep_path_block temporary = { 0 };
	u32 i;
	int err;

	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(s.stack, g->vertices), DEP_PATH_ARRAY(s.next, g->vertices),
			DEP_PATH_ARRAY(s.later, g->vertices), DEP_PATH_ARRAY(s.state, g->vertices),
			DEP_PATH_ARRAY(s.listed, g->vertices),
		}, 5);
	if (err)
		return err;
	for (i = 0; i < g->starts; i++)
		search_from(&s, g->start[i].vertex);
	for (i = 0; i < s.laters; i++)
		search_from(&s, s.later[i]);
	*reached = g->vertices - s.place;
	for (i = 0; i < *reached; i++)
		order[i] = order[s.place + i];
	dep_path_arrays_free(g->memory, &temporary);
	return 0;
}
