// SPDX-License-Identifier: LGPL-2.1-or-later
/* Maximum spanning trees, and increments of chords by event counting. */
#include "chords.h"
#include "sort.h"

/**
 * struct forest - trees of vertices that grow together
 * @parent: a vertex nearer to the root of its tree, itself at the root
 * @rise: the vertex's potential less that of @parent, modulo 2^64
 * @size: at a root: number of vertices
 */
struct forest {
	u32 *parent, *size;
	u64 *rise;
};

/* The root of a vertex's tree; @potential gets the vertex's potential less the root's. */
static u32 root_of(struct forest *f, u32 v, u64 *potential)
{
	u32 root = v, next;
	u64 sum = 0, rise;

	for (; f->parent[root] != root; root = f->parent[root])
		sum += f->rise[root];
	*potential = sum;
	for (; f->parent[v] != root && v != root; v = next) {
		next = f->parent[v];
		rise = f->rise[v];
		f->parent[v] = root;
		f->rise[v] = sum;
		sum -= rise;
	}
	return root;
}

/* Join two trees by an arc over which the potential rises by @value; false: it is one tree. */
static bool join(struct forest *f, u32 from, u32 to, u64 value)
{
	u64 at_from, at_to;
	u32 a = root_of(f, from, &at_from), b = root_of(f, to, &at_to);

	if (a == b)
		return false;
	if (f->size[a] >= f->size[b]) {
		f->parent[b] = a;
		f->rise[b] = at_from + value - at_to;
		f->size[a] += f->size[b];
	} else {
		f->parent[a] = b;
		f->rise[a] = at_to - at_from - value;
		f->size[b] += f->size[a];
	}
	return true;
}

static void plant(struct forest *f, u32 vertices)
{
	u32 i;

	for (i = 0; i < vertices; i++) {
		f->parent[i] = i;
		f->size[i] = 1;
	}
}

static void set_increments(struct dep_path_chords *c, struct forest *f)
{
	const struct dep_path_arc *arc;
	u64 at_from, at_to, size;
	u32 i;

	for (i = 0; i < c->paths->arcs; i++) {
		if (!c->chord[i])
			continue;
		arc = c->paths->arc + i;
		root_of(f, arc->from, &at_from);
		root_of(f, arc->to, &at_to);
		c->increment[i] = (s64)(at_from + arc->value - at_to);
		size = c->increment[i] < 0 ? -(u64)c->increment[i] : (u64)c->increment[i];
		if (size > c->largest)
			c->largest = size;
	}
}

int dep_path_chords(struct dep_path_chords *c, const struct dep_paths *p, const u64 *weight)
{
	const struct dep_path_memory *m = p->graph->memory;
	struct dep_path_block temporary = { 0 };
	struct dep_keyed *list, *other;
	u32 i, n, vertices = p->exit + 1;
	struct forest f;
	int err;

	*c = (struct dep_path_chords){ .paths = p };
	err = dep_path_arrays(m, &c->block, (struct dep_path_array[]){
			DEP_PATH_ARRAY(c->increment, p->arcs), DEP_PATH_ARRAY(c->chord, p->arcs),
		}, 2);
	if (err)
		return err;
	err = dep_path_arrays(m, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(list, p->arcs), DEP_PATH_ARRAY(other, p->arcs),
			DEP_PATH_ARRAY(f.parent, vertices), DEP_PATH_ARRAY(f.size, vertices),
			DEP_PATH_ARRAY(f.rise, vertices),
		}, 5);
	if (err) {
		dep_path_chords_free(c);
		return err;
	}
	for (i = 0; i < p->arcs; i++)
		list[i] = (struct dep_keyed){ .key = weight[i], .n = i };
	dep_sort_falling(list, other, p->arcs);
	plant(&f, vertices);
	join(&f, p->exit, p->entry, 0);
	for (i = 0; i < p->arcs; i++) {
		n = list[i].n;
		c->chord[n] = !join(&f, p->arc[n].from, p->arc[n].to, p->arc[n].value);
		c->chords += c->chord[n];
	}
	set_increments(c, &f);
	dep_path_arrays_free(m, &temporary);
	return 0;
}

void dep_path_chords_free(struct dep_path_chords *c)
{
	dep_path_arrays_free(c->paths->graph->memory, &c->block);
}

/* Join the ends of an edge of the graph.  What is outside of the function is the last vertex. */
static bool join_edge(struct forest *f, const struct dep_path_graph *g, u32 edge)
{
	const struct dep_path_edge *e;

	if (edge == g->edges)
		return join(f, g->vertices, 0, 0);
	e = g->edge + edge;
	return join(f, e->from, e->to == DEP_PATH_EXIT ? g->vertices : e->to, 0);
}

int dep_path_edge_counters(const struct dep_paths *p, const u64 *count, u64 entered,
			   u32 *counters, u64 *increments)
{
	const struct dep_path_graph *g = p->graph;
	struct dep_path_block temporary = { 0 };
	struct dep_keyed *list, *other;
	struct forest f;
	u32 i, n = 0;
	int err;

	err = dep_path_arrays(g->memory, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(list, g->edges + 1), DEP_PATH_ARRAY(other, g->edges + 1),
			DEP_PATH_ARRAY(f.parent, g->vertices + 1),
			DEP_PATH_ARRAY(f.size, g->vertices + 1),
			DEP_PATH_ARRAY(f.rise, g->vertices + 1),
		}, 5);
	if (err)
		return err;
	/* The entry is an edge without a number. */
	dep_keyed_add(list, &n, entered, g->edges);
	for (i = 0; i < g->edges; i++)
		if (p->class[i] != DEP_PATH_UNREACHED)
			dep_keyed_add(list, &n, count ? count[i] : g->edge[i].weight, i);
	dep_sort_falling(list, other, n);
	*counters = 0;
	*increments = 0;
	plant(&f, g->vertices + 1);
	for (i = 0; i < n; i++) {
		if (join_edge(&f, g, list[i].n))
			continue;
		++*counters;
		*increments = dep_add_sat(*increments, list[i].key);
	}
	dep_path_arrays_free(g->memory, &temporary);
	return 0;
}
