// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random graphs, half of them irreducible.
 *
 * A slow search for back edges and an enumeration of all paths, which know nothing of numbers, say
 * what the paths are.  Everything else must agree with it: numbers, chords, placement,
 * regeneration, partial paths, and counts of random walks.  ADEPT_TEST_SEED and ADEPT_TEST_COUNT
 * set seed and number of graphs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "graph_util.h"
#include "libdep/paths/placement.h"
#include "libdep/paths/predict.h"
#include "libdep/paths/weights.h"
#include "tests/unit/lib/random.h"

#define BLOCKS		16
#define EDGES		(8 * BLOCKS)
#define ARCS		(EDGES + BLOCKS + 1)
#define MOST_PATHS	20000u
#define WALK		200

/**
 * struct model - a graph and what is said of it
 * @back: is an edge a back edge?  @visit: 1: on the stack, 2: done
 * @later: targets of edges over which the search does not go
 * @block: the path at hand, of @n blocks
 * @seen: numbers that came up; @found: how many
 * @sums: for each block the sums of partial paths that came up
 */
struct model {
	struct counted_memory memory;
	struct dep_path_graph graph;
	struct dep_paths paths;
	struct dep_path_chords chords;
	struct dep_path_placement placement;
	bool back[EDGES];
	u8 visit[BLOCKS];
	u32 later[EDGES], laters;
	u32 block[BLOCKS + 1], edge[BLOCKS + 1], n;
	u64 weight[ARCS];
	u8 seen[MOST_PATHS];
	u64 found, partials;
};

static u64 graphs, all_paths, irreducible, truncated, skipped;

/* The definition of a back edge, by recursion. */
static void visit(struct model *m, u32 v)
{
	const struct dep_path_graph *g = &m->graph;
	u32 i, to;

	m->visit[v] = 1;
	for (i = 0; i < g->edges; i++) {
		if (g->edge[i].from != v || g->edge[i].to == DEP_PATH_EXIT)
			continue;
		to = g->edge[i].to;
		if (g->edge[i].ends && to != v)
			m->later[m->laters++] = to;
		else if (m->visit[to] == 1)
			m->back[i] = to != v;
		else if (!m->visit[to])
			visit(m, to);
	}
	m->visit[v] = 2;
}

/* Can @to be reached from the entry without @without? */
static bool reaches(const struct dep_path_graph *g, u32 to, u32 without)
{
	u8 seen[BLOCKS] = { 0 };
	bool more = without != 0;
	u32 i;

	seen[0] = more;
	while (more) {
		more = false;
		for (i = 0; i < g->edges; i++) {
			const struct dep_path_edge *e = g->edge + i;

			if (e->to == DEP_PATH_EXIT || e->to == without || !seen[e->from] ||
			    seen[e->to])
				continue;
			seen[e->to] = 1;
			more = true;
		}
	}
	return seen[to];
}

static void check_classes(struct model *m)
{
	const struct dep_path_graph *g = &m->graph;
	bool is_irreducible = false;
	u32 i;

	m->laters = 0;
	memset(m->visit, 0, sizeof(m->visit));
	memset(m->back, 0, sizeof(m->back));
	for (i = 0; i < g->starts; i++)
		if (!m->visit[g->start[i].vertex])
			visit(m, g->start[i].vertex);
	for (i = 0; i < m->laters; i++)
		if (!m->visit[m->later[i]])
			visit(m, m->later[i]);
	for (i = 0; i < g->edges; i++) {
		enum dep_path_class class = m->paths.class[i];
		const struct dep_path_edge *e = g->edge + i;

		assert_int_equal(class == DEP_PATH_UNREACHED, !m->visit[e->from]);
		if (class == DEP_PATH_UNREACHED)
			continue;
		assert_int_equal(class == DEP_PATH_SELF, e->from == e->to);
		assert_int_equal(class == DEP_PATH_END, e->to == DEP_PATH_EXIT);
		assert_int_equal(class == DEP_PATH_GIVEN, e->ends && e->from != e->to &&
				 e->to != DEP_PATH_EXIT);
		assert_int_equal(class == DEP_PATH_BACK, m->back[i]);
		/* The head of a reducible loop is on every way to the loop's end. */
		if (m->back[i] && reaches(g, e->from, e->to))
			is_irreducible = true;
	}
	irreducible += is_irreducible;
}

/* Do what the instrumentation of an arc says; returns whether it counts, and where. */
static bool operate(const struct model *m, u32 arc, u64 *r, u64 *index)
{
	u64 operand = (u64)m->placement.operand[arc];

	switch (m->placement.op[arc]) {
	case DEP_PATH_SET:
		*r = operand;
		return false;
	case DEP_PATH_ADD:
		*r += operand;
		return false;
	case DEP_PATH_COUNT:
		*index = *r + operand;
		return true;
	case DEP_PATH_COUNT_CONSTANT:
		*index = operand;
		return true;
	default:
		return false;
	}
}

/* The path at hand, which ends on an edge, against everything. */
static void check_path(struct model *m, bool called, u32 end)
{
	const struct dep_paths *p = &m->paths;
	u32 edge[BLOCKS], i, arc, counts = 0, next = m->graph.edge[end].to;
	u64 number, insns = 0, r = 0xbad, index = 0;
	struct dep_path path;

	assert_int_equal(dep_path_number(p, m->block, m->n, called, next, &number), 0);
	assert_true(number < p->total);
	assert_false(m->seen[number]);
	m->seen[number] = 1;
	m->found++;
	assert_int_equal(dep_path_regenerate(p, number, &path, edge, BLOCKS), 0);
	assert_int_equal(path.edges + 1, m->n);
	assert_int_equal(path.arc == p->entry_arc, called);
	assert_int_equal(path.first, m->block[0]);
	assert_int_equal(path.end, end);
	assert_true(path.next == next);
	for (i = 0; i < m->n; i++)
		insns += m->graph.insns[m->block[i]];
	assert_int_equal(path.insns, insns);
	assert_memory_equal(edge, m->edge + 1, path.edges * sizeof(*edge));
	assert_int_equal(sum_of_increments(&m->chords, number), number);
	/* The instrumentation counts this number once, and never before r is set. */
	for (i = 0; i <= m->n; i++) {
		arc = !i ? path.arc : p->arc_of[i < m->n ? edge[i - 1] : end];
		counts += operate(m, arc, &r, &index);
	}
	assert_int_equal(counts, 1);
	assert_int_equal(index, number);
}

/* The path at hand as one that stops at its last block. */
static void check_partial(struct model *m, bool called)
{
	u32 edge[BLOCKS], last = m->block[m->n - 1];
	struct dep_path path;
	u64 sum;

	m->partials++;
	assert_int_equal(dep_path_number_partial(&m->paths, m->block, m->n, called, &sum), 0);
	assert_int_equal(dep_path_regenerate_partial(&m->paths, sum, last, &path, edge, BLOCKS), 0);
	assert_int_equal(path.edges + 1, m->n);
	assert_int_equal(path.arc == m->paths.entry_arc, called);
	assert_int_equal(path.end, DEP_PATH_NONE);
	assert_memory_equal(edge, m->edge + 1, path.edges * sizeof(*edge));
}

/* Go on with the path at hand over each edge. */
static void enumerate(struct model *m, bool called)
{
	const struct dep_path_graph *g = &m->graph;
	u32 i, v = m->block[m->n - 1];

	check_partial(m, called);
	for (i = 0; i < g->edges; i++) {
		if (g->edge[i].from != v || g->edge[i].to == v)
			continue;
		if (g->edge[i].to == DEP_PATH_EXIT || m->back[i] || g->edge[i].ends ||
		    m->paths.class[i] == DEP_PATH_CUT) {
			check_path(m, called, i);
			continue;
		}
		m->block[m->n] = g->edge[i].to;
		m->edge[m->n++] = i;
		enumerate(m, called);
		m->n--;
	}
}

static void enumerate_all(struct model *m)
{
	const struct dep_path_graph *g = &m->graph;
	bool head[BLOCKS] = { 0 };
	u32 i;

	memset(m->seen, 0, sizeof(m->seen));
	m->found = 0;
	for (i = 1; i < g->starts; i++)
		head[g->start[i].vertex] = true;
	for (i = 0; i < g->edges; i++)
		if (m->back[i] || m->paths.class[i] == DEP_PATH_CUT ||
		    m->paths.class[i] == DEP_PATH_GIVEN)
			head[g->edge[i].to] = true;
	m->n = 1;
	m->block[0] = 0;
	enumerate(m, true);
	for (i = 0; i < g->vertices; i++) {
		m->block[0] = i;
		if (head[i])
			enumerate(m, false);
	}
	/* No number came up twice, so all did. */
	assert_int_equal(m->found, m->paths.total);
	all_paths += m->found;
}

/* Chords against the weight of a maximum spanning tree by Prim's algorithm. */
static void check_tree(const struct model *m)
{
	const struct dep_paths *p = &m->paths;
	u64 ours = 0, best = 0;
	u8 in[BLOCKS + 2] = { 0 };
	u32 i, pick;

	for (i = 0; i < p->arcs; i++) {
		ours += m->chords.chord[i] ? 0 : m->weight[i];
		assert_true(m->placement.op[i] != DEP_PATH_ADD || m->placement.operand[i]);
	}
	in[p->entry] = in[p->exit] = 1;
	do {
		pick = p->arcs;
		for (i = 0; i < p->arcs; i++)
			if (in[p->arc[i].from] != in[p->arc[i].to] &&
			    (pick == p->arcs || m->weight[i] > m->weight[pick]))
				pick = i;
		if (pick < p->arcs) {
			best += m->weight[pick];
			in[p->arc[pick].from] = in[p->arc[pick].to] = 1;
		}
	} while (pick < p->arcs);
	assert_int_equal(ours, best);
	assert_int_equal(m->chords.chords, p->arcs - p->reached);
}

/**
 * struct walked - counts of a random walk
 * @path: by number, from the steps
 * @edge, @block: of all steps; @derived, @derived_block: from the counts of paths
 * @r: the path register
 * @placed: the number that the instrumentation has counted for the path at hand, or NO_PATH
 */
struct walked {
	u64 path[MOST_PATHS];
	u64 edge[EDGES], block[BLOCKS], derived[EDGES], derived_block[BLOCKS];
	u64 r, placed;
};

static void operate_and_count(const struct model *m, struct walked *w, u32 arc)
{
	u64 index;

	if (operate(m, arc, &w->r, &index)) {
		assert_true(w->placed == NO_PATH);
		w->placed = index;
	}
}

/* Follow an edge, and count; returns whether the walk goes on. */
static bool walk_edge(const struct model *m, struct walked *w, struct dep_path_walk *walk, u32 edge)
{
	const struct dep_paths *p = &m->paths;
	u32 to = m->graph.edge[edge].to;
	u64 number;
	int step = dep_path_step(p, walk, edge, &number);

	assert_true(step >= 0);
	w->edge[edge]++;
	if (to != DEP_PATH_EXIT)
		w->block[to]++;
	if (step == DEP_PATH_LOOPED) {
		w->derived[edge]++;
		w->derived_block[to]++;
		return true;
	}
	operate_and_count(m, w, p->arc_of[edge]);
	if (step == DEP_PATH_ENDED) {
		w->path[number]++;
		assert_true(w->placed == number);
		w->placed = NO_PATH;
		if (to != DEP_PATH_EXIT)
			operate_and_count(m, w, p->head[to]);
	}
	return to != DEP_PATH_EXIT;
}

/* One activation of the function; @stop: it is left after so many steps. */
static void walk_once(const struct model *m, struct walked *w, u32 stop)
{
	const struct dep_path_graph *g = &m->graph;
	const struct dep_paths *p = &m->paths;
	struct dep_path_walk walk;
	bool called = g->starts == 1 || rnd() % 2;
	u32 start = called ? 0 : g->start[1].vertex, i;

	assert_int_equal(dep_path_enter(p, &walk, start, called), 0);
	w->placed = NO_PATH;
	operate_and_count(m, w, called ? p->entry_arc : p->head[start]);
	w->block[start]++;
	for (i = 0; i < stop; i++)
		if (!walk_edge(m, w, &walk, g->out[g->first[walk.at] +
			       rnd() % (g->first[walk.at + 1] - g->first[walk.at])]))
			return;
	assert_int_equal(dep_path_count_partial(p, walk.sum, walk.at, 1, w->derived,
						w->derived_block), 0);
}

static void check_walks(const struct model *m)
{
	static struct walked w;
	u32 i;

	memset(&w, 0, sizeof(w));
	for (i = 0; i < 10; i++)
		walk_once(m, &w, 1 + (u32)(rnd() % WALK));
	for (i = 0; i < m->paths.total; i++)
		if (w.path[i])
			assert_int_equal(dep_path_count_edges(&m->paths, i, w.path[i], w.derived,
							      w.derived_block), 0);
	assert_memory_equal(w.edge, w.derived, sizeof(w.edge));
	assert_memory_equal(w.block, w.derived_block, sizeof(w.block));
}

/* A path that edges predict is predicted from its first to its last edge. */
static void check_prediction(const struct model *m)
{
	struct dep_path_prediction sum = { 0 };
	u32 likely[BLOCKS];
	u64 number = 0;

	dep_path_likely_edges(&m->paths, NULL, likely);
	assert_int_equal(dep_path_predict(&m->paths, likely, 0, true, &number), 0);
	assert_int_equal(dep_path_compare(&m->paths, likely, number, 3, &sum), 0);
	assert_int_equal(sum.whole_executions, 3);
	assert_true(sum.executed.edges == sum.predicted.edges);
	assert_true(sum.executed.insns == sum.predicted.insns);
}

static void choose_weights(struct model *m)
{
	u32 i;

	switch (rnd() % 3) {
	case 0:
		dep_path_measured_weights(&m->paths, NULL, rnd() % 1000, m->weight);
		break;
	case 1:
		assert_int_equal(dep_path_static_weights(&m->paths, m->weight), 0);
		break;
	default:
		for (i = 0; i < m->paths.arcs; i++)
			m->weight[i] = rnd() % 10;
	}
}

static void one_graph(struct model *m)
{
	struct dep_path_options options = { .given_order = rnd() % 2 };
	int err;

	counted_memory_init(&m->memory);
	random_graph(&m->graph, &m->memory.memory, BLOCKS);
	options.limit = rnd() % 3 ? DEP_PATH_LIMIT : 1 + rnd() % (4 * m->graph.edges);
	err = dep_paths_number(&m->paths, &m->graph, &options);
	if (err == -ERANGE)
		assert_true(options.limit < 2 * (m->graph.edges + m->graph.starts));
	else
		assert_int_equal(err, 0);
	if (err || m->paths.total > MOST_PATHS) {
		skipped++;
		if (!err)
			dep_paths_free(&m->paths);
		dep_path_graph_free(&m->graph);
		assert_int_equal(m->memory.bytes, 0);
		return;
	}
	assert_true(m->paths.total <= options.limit);
	assert_int_equal(m->paths.truncated, m->paths.potential > m->paths.total ||
			 m->paths.cut_vertices);
	truncated += m->paths.truncated;
	check_classes(m);
	choose_weights(m);
	assert_int_equal(dep_path_chords(&m->chords, &m->paths, m->weight), 0);
	assert_int_equal(dep_path_place(&m->placement, &m->chords), 0);
	check_tree(m);
	enumerate_all(m);
	check_walks(m);
	check_prediction(m);
	dep_path_placement_free(&m->placement);
	dep_path_chords_free(&m->chords);
	dep_paths_free(&m->paths);
	dep_path_graph_free(&m->graph);
	assert_int_equal(m->memory.bytes, 0);
}

static void random_graphs(void **state)
{
	static struct model m;
	u64 count = from_env("ADEPT_TEST_COUNT", 10000);

	(void)state;
	for (graphs = 0; graphs < count; graphs++)
		one_graph(&m);
	printf("%llu graphs: %llu paths; %llu irreducible, %llu truncated, %llu left out\n",
	       (unsigned long long)graphs, (unsigned long long)all_paths,
	       (unsigned long long)irreducible, (unsigned long long)truncated,
	       (unsigned long long)skipped);
	/* The test is worth something only if such graphs came up. */
	if (count >= 1000) {
		assert_true(irreducible > count / 20);
		assert_true(truncated > count / 50);
		assert_true(skipped < count / 4);
	}
}

/* Anything as input of the functions that build a graph, and of those that take numbers. */
static void bad_input(void **state)
{
	struct dep_path_options options;
	struct counted_memory memory;
	struct dep_path_graph g;
	struct dep_path_walk walk;
	struct dep_path path;
	struct dep_paths p;
	u32 edge[4], block[4], i, k;
	u64 number;

	(void)state;
	counted_memory_init(&memory);
	for (i = 0; i < 20000; i++) {
		dep_path_graph_init(&g, &memory.memory);
		for (k = (u32)(rnd() % 40); k; k--) {
			if (!(rnd() % 3))
				dep_path_graph_vertex(&g, (u32)rnd());
			if (!(rnd() % 16))
				dep_path_graph_start(&g, (u32)(rnd() % 8), rnd());
			if (!(rnd() % 8))
				dep_path_graph_end_at(&g, (u32)(rnd() % 32));
			dep_path_graph_edge(&g, (u32)(rnd() % 16), rnd() % 4 ? (u32)(rnd() % 16) :
					    DEP_PATH_EXIT, (enum dep_path_kind)(rnd() % 9), rnd());
		}
		options.limit = rnd() >> rnd() % 64;
		options.given_order = rnd() % 2;
		if (!dep_path_graph_finish(&g) && !dep_paths_number(&p, &g, &options)) {
			number = rnd() >> rnd() % 64;
			dep_path_regenerate(&p, number, &path, edge, (u32)(rnd() % 5));
			dep_path_regenerate_partial(&p, number, (u32)(rnd() % 16), &path, edge,
						    (u32)(rnd() % 5));
			for (k = 0; k < 4; k++)
				block[k] = (u32)(rnd() >> rnd() % 64);
			dep_path_number(&p, block, (u32)(rnd() % 5), rnd() % 2, (u32)(rnd() % 16),
					&number);
			if (!dep_path_enter(&p, &walk, (u32)(rnd() % 16), rnd() % 2))
				for (k = 0; k < 4 && walk.at != DEP_PATH_EXIT; k++)
					dep_path_step(&p, &walk, (u32)(rnd() % 32), &number);
			dep_paths_free(&p);
		}
		dep_path_graph_free(&g);
	}
	assert_int_equal(memory.bytes, 0);
}

/* Each allocation fails once: an error, and nothing is left behind. */
static int with_failure(unsigned int fail_at)
{
	struct dep_path_options options = { .limit = 60 };
	struct dep_path_cost fixed, executed;
	struct dep_path_placement placement;
	struct dep_path_chords chords;
	struct counted_memory memory;
	struct dep_path_graph g;
	struct dep_paths p;
	u64 weight[128], increments;
	u32 i, counters;
	int err;

	counted_memory_init(&memory);
	memory.fail_at = fail_at;
	dep_path_graph_init(&g, &memory.memory);
	err = add_blocks(&g, 20);
	for (i = 0; i < 18 && err >= 0; i++) {
		err = dep_path_graph_edge(&g, i, i + 1, DEP_PATH_FALL_THROUGH, 1);
		if (err >= 0)
			err = dep_path_graph_edge(&g, i, i + 2, DEP_PATH_TAKEN, 1);
	}
	if (err >= 0)
		err = dep_path_graph_start(&g, 3, 1);
	if (err >= 0)
		err = dep_path_graph_finish(&g);
	if (err)
		goto out;
	err = dep_paths_number(&p, &g, &options);
	if (err)
		goto out;
	assert_true(p.truncated);
	err = dep_path_static_weights(&p, weight);
	if (!err)
		err = dep_path_edge_counters(&p, NULL, 1, &counters, &increments);
	if (err)
		goto out_paths;
	err = dep_path_chords(&chords, &p, weight);
	if (err)
		goto out_paths;
	err = dep_path_place(&placement, &chords);
	if (err)
		goto out_chords;
	err = dep_path_cost(&placement, &chords, NULL, 1, &fixed, &executed);
	dep_path_placement_free(&placement);
out_chords:
	dep_path_chords_free(&chords);
out_paths:
	dep_paths_free(&p);
out:
	dep_path_graph_free(&g);
	assert_int_equal(memory.bytes, 0);
	if (!fail_at)
		assert_int_equal(err, 0);
	return err ? err : (int)memory.calls;
}

static void no_memory(void **state)
{
	int calls = with_failure(0), i;

	(void)state;
	assert_true(calls > 15);
	for (i = 1; i <= calls; i++)
		assert_int_equal(with_failure((unsigned int)i), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs), cmocka_unit_test(bad_input),
		cmocka_unit_test(no_memory),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
