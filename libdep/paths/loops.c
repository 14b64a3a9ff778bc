// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Nesting of loops, after Tarjan and Havlak: heads are taken innermost first, and a loop that is
 * known is one vertex from then on, so that each vertex is looked at once.
 */
#include "loops.h"

/**
 * struct finder - what is known so far
 * @in, @in_first: edges by target
 * @place: place of each vertex in dep_paths.order
 * @whole: the loop that a vertex is in, as a tree of vertices; itself if in none
 * @work: vertices of the loop at hand; @marked: is a vertex among them?
 */
struct finder {
	const struct dep_paths *p;
	u32 *in, *in_first, *place, *by_entry, *whole, *work, *marked;
	u32 *loop;
	u8 *head;
	u32 n;
};

/* The head of the outermost known loop around a vertex. */
static u32 outermost(struct finder *f, u32 v)
{
	u32 root = v, next;

	while (f->whole[root] != root)
		root = f->whole[root];
	for (; f->whole[v] != root; v = next) {
		next = f->whole[v];
		f->whole[v] = root;
	}
	return root;
}

/* Did the search find @v behind @head? */
static bool behind(const struct finder *f, u32 v, u32 head)
{
	return f->p->entered[v] >= f->p->entered[head] && f->place[v] >= f->place[head];
}

static void add(struct finder *f, u32 v, u32 head)
{
	v = outermost(f, v);
	if (v == head || f->marked[v] == head || !behind(f, v, head))
		return;
	f->marked[v] = head;
	f->work[f->n++] = v;
}

static void find_loop(struct finder *f, u32 head)
{
	const struct dep_paths *p = f->p;
	u32 i, done, v, n, from;

	f->n = 0;
	for (i = f->in_first[head]; i < f->in_first[head + 1]; i++) {
		n = f->in[i];
		from = p->graph->edge[n].from;
		if (!dep_path_splits(p->class[n]) || !behind(f, from, head))
			continue;
		f->head[head] = 1;
		add(f, from, head);
	}
	for (done = 0; done < f->n; done++) {
		v = f->work[done];
		for (i = f->in_first[v]; i < f->in_first[v + 1]; i++) {
			n = f->in[i];
			if (p->class[n] != DEP_PATH_UNREACHED && p->class[n] != DEP_PATH_BACK)
				add(f, p->graph->edge[n].from, head);
		}
	}
	for (i = 0; i < f->n; i++) {
		f->loop[f->work[i]] = head;
		f->whole[f->work[i]] = head;
	}
}

/* List the edges to each vertex. */
static void list_in_edges(struct finder *f)
{
	const struct dep_path_graph *g = f->p->graph;
	u32 i, n = g->vertices;

	for (i = 0; i < g->edges; i++)
		if (g->edge[i].to != DEP_PATH_EXIT)
			f->in_first[g->edge[i].to + 1]++;
	for (i = 0; i < n; i++)
		f->in_first[i + 1] += f->in_first[i];
	for (i = 0; i < g->edges; i++)
		if (g->edge[i].to != DEP_PATH_EXIT)
			f->in[f->in_first[g->edge[i].to]++] = i;
	for (i = n; i; i--)
		f->in_first[i] = f->in_first[i - 1];
	f->in_first[0] = 0;
}

int dep_path_loops(const struct dep_paths *p, u32 *loop, u8 *head)
{
	const struct dep_path_graph *g = p->graph;
	struct finder f = { .p = p, .loop = loop, .head = head };
	struct dep_path_block temporary = { 0 };
	u32 i, v, n = g->vertices;
	int err;

	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(f.in, g->edges), DEP_PATH_ARRAY(f.in_first, n + 1),
			DEP_PATH_ARRAY(f.place, n), DEP_PATH_ARRAY(f.by_entry, n),
			DEP_PATH_ARRAY(f.whole, n), DEP_PATH_ARRAY(f.work, n),
			DEP_PATH_ARRAY(f.marked, n),
		}, 7);
	if (err)
		return err;
	list_in_edges(&f);
	for (v = 0; v < n; v++) {
		f.whole[v] = v;
		f.marked[v] = loop[v] = DEP_PATH_NONE;
		head[v] = 0;
	}
	for (i = 0; i < p->reached; i++) {
		f.place[p->order[i]] = i;
		f.by_entry[p->entered[p->order[i]]] = p->order[i];
	}
	for (i = p->reached; i--; )
		find_loop(&f, f.by_entry[i]);
	dep_path_arrays_free(g->memory, &temporary);
	return 0;
}
