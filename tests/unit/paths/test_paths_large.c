// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs of up to a million blocks or edges, on a stack that recursion would overflow.  What each
 * step cost is printed.  No limit is set on it, but any step that is not nearly linear would not
 * end within the time of a suite.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "graph_util.h"
#include "libdep/paths/placement.h"
#include "libdep/paths/weights.h"
#include "tests/unit/lib/random.h"

#define STACK		(1u << 20)
#define SAMPLES		20

/* A graph under construction, and the function that adds its blocks and edges. */
struct large {
	const char *name;
	void (*build)(struct dep_path_graph *g);
	u64 limit;
};

/* Nanoseconds of processor time: the machine may be busy with other things. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void edge(struct dep_path_graph *g, u32 from, u32 to, enum dep_path_kind kind)
{
	if (dep_path_graph_edge(g, from, to, kind, 0) < 0)
		abort();
}

static void blocks(struct dep_path_graph *g, u32 n)
{
	if (add_blocks(g, n))
		abort();
}

/* One block after the other, as many as there may be. */
static void line(struct dep_path_graph *g)
{
	u32 i, n = DEP_PATH_VERTICES;

	blocks(g, n);
	for (i = 0; i + 1 < n; i++)
		edge(g, i, i + 1, DEP_PATH_FALL_THROUGH);
	edge(g, i, DEP_PATH_EXIT, DEP_PATH_RETURN);
}

/* Each block goes on or returns to one before it: 100,000 loops, many of which overlap. */
static void back_to_start(struct dep_path_graph *g)
{
	u32 i, n = 100000;

	blocks(g, n);
	for (i = 0; i + 1 < n; i++) {
		edge(g, i, i + 1, DEP_PATH_FALL_THROUGH);
		if (i)
			edge(g, i, (u32)(rnd() % i), DEP_PATH_TAKEN);
	}
}

/* Loops inside each other: heads first, then their ends, the innermost one first. */
static void nested(struct dep_path_graph *g)
{
	u32 i, n = 100000;

	blocks(g, 2 * n);
	for (i = 0; i < n; i++)
		edge(g, i, i + 1, DEP_PATH_FALL_THROUGH);
	for (i = n; i < 2 * n; i++) {
		if (i + 1 < 2 * n)
			edge(g, i, i + 1, DEP_PATH_FALL_THROUGH);
		edge(g, i, 2 * n - 1 - i, DEP_PATH_TAKEN);
	}
}

/* 2^150000 paths. */
static void ladder(struct dep_path_graph *g)
{
	u32 i, n = 150000;

	blocks(g, 2 * n + 1);
	for (i = 0; i < n; i++) {
		edge(g, 2 * i, 2 * i + 1, DEP_PATH_FALL_THROUGH);
		edge(g, 2 * i, 2 * i + 2, DEP_PATH_TAKEN);
		edge(g, 2 * i + 1, 2 * i + 2, DEP_PATH_FALL_THROUGH);
	}
}

/* An interpreter: a jump table with 100,000 targets, which come back to it. */
static void jump_table(struct dep_path_graph *g)
{
	u32 i, n = 100000;

	blocks(g, n);
	for (i = 1; i < n; i++) {
		edge(g, 0, i, DEP_PATH_INDIRECT);
		edge(g, i, 0, DEP_PATH_TAKEN);
		if (i + 1 < n && i % 3)
			edge(g, i, i + 1, DEP_PATH_FALL_THROUGH);
	}
}

/* Each block leads to each: as irreducible as can be. */
static void complete(struct dep_path_graph *g)
{
	u32 i, j, n = 700;

	blocks(g, n);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			edge(g, i, j, DEP_PATH_INDIRECT);
	edge(g, n - 1, DEP_PATH_EXIT, DEP_PATH_RETURN);
}

/* 150,000 blocks with edges to anywhere, or nearby. */
static void anywhere(struct dep_path_graph *g)
{
	u32 i, n = 150000, a, b;

	blocks(g, n);
	for (i = 0; i < n; i++) {
		a = (u32)(rnd() % n);
		b = (i + 1 + (u32)(rnd() % 20)) % n;
		edge(g, i, b, DEP_PATH_FALL_THROUGH);
		if (a != b)
			edge(g, i, a, DEP_PATH_TAKEN);
		if (!(rnd() % 8))
			edge(g, i, DEP_PATH_EXIT, DEP_PATH_RETURN);
	}
}

/* Some paths from their numbers and back, with chords and without. */
static void sample(const struct dep_paths *p, const struct dep_path_chords *c)
{
	static u32 edges[DEP_PATH_VERTICES], list[DEP_PATH_VERTICES];
	struct dep_path path;
	u64 number, again;
	u32 i, k;

	for (i = 0; i < SAMPLES; i++) {
		number = !i ? 0 : i == 1 ? p->total - 1 : rnd() % p->total;
		assert_int_equal(dep_path_regenerate(p, number, &path, edges, DEP_PATH_VERTICES),
				 0);
		assert_true(path.edges < p->graph->vertices);
		list[0] = path.first;
		for (k = 0; k < path.edges; k++)
			list[k + 1] = p->graph->edge[edges[k]].to;
		assert_int_equal(dep_path_number(p, list, path.edges + 1, path.arc == p->entry_arc,
						 path.next, &again), 0);
		assert_true(again == number);
		assert_true(sum_of_increments(c, number) == number);
	}
}

static void use(const struct large *l, struct dep_path_graph *g, struct counted_memory *m)
{
	struct dep_path_options options = { .limit = l->limit };
	double t[7], edges;
	struct dep_path_placement placement;
	struct dep_path_chords chords;
	struct dep_paths p;
	u64 *weight;
	int i;

	t[0] = now();
	l->build(g);
	t[1] = now();
	assert_int_equal(dep_path_graph_finish(g), 0);
	t[2] = now();
	assert_int_equal(dep_paths_number(&p, g, &options), 0);
	t[3] = now();
	weight = calloc(p.arcs, sizeof(*weight));
	assert_non_null(weight);
	assert_int_equal(dep_path_static_weights(&p, weight), 0);
	t[4] = now();
	assert_int_equal(dep_path_chords(&chords, &p, weight), 0);
	t[5] = now();
	assert_int_equal(dep_path_place(&placement, &chords), 0);
	t[6] = now();
	assert_true(p.total && p.total <= l->limit);
	sample(&p, &chords);
	edges = g->edges;
	printf("%-14s %7u blocks, %7u edges, limit 2^%d:", l->name, g->vertices, g->edges,
	       63 - __builtin_clzll(l->limit));
	for (i = 0; i < 6; i++)
		printf(" %.0f", (t[i + 1] - t[i]) / edges);
	printf(" ns an edge to build, finish, number, weigh, choose chords, place; %zu bytes an "
	       "edge\n", m->most / g->edges);
	dep_path_placement_free(&placement);
	dep_path_chords_free(&chords);
	dep_paths_free(&p);
	free(weight);
}

static void one(const struct large *l)
{
	struct counted_memory m;
	struct dep_path_graph g;

	counted_memory_init(&m);
	dep_path_graph_init(&g, &m.memory);
	use(l, &g, &m);
	dep_path_graph_free(&g);
	assert_int_equal(m.bytes, 0);
}

static void large_graphs(void **state)
{
	static const struct large large[] = {
		{ "line", line, DEP_PATH_LIMIT },
		{ "back to start", back_to_start, DEP_PATH_LIMIT },
		{ "nested loops", nested, DEP_PATH_LIMIT },
		{ "ladder", ladder, DEP_PATH_LIMIT },
		{ "ladder", ladder, DEP_PATH_ENGINE_LIMIT },
		{ "jump table", jump_table, DEP_PATH_LIMIT },
		{ "complete", complete, DEP_PATH_LIMIT },
		{ "anywhere", anywhere, DEP_PATH_LIMIT },
		{ "anywhere", anywhere, DEP_PATH_ENGINE_LIMIT },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(large) / sizeof(*large); i++)
		one(large + i);
}

/* More blocks or edges than there may be. */
static void too_large(void **state)
{
	struct counted_memory m;
	struct dep_path_graph g;
	u32 i;

	(void)state;
	counted_memory_init(&m);
	dep_path_graph_init(&g, &m.memory);
	blocks(&g, DEP_PATH_VERTICES);
	assert_int_equal(dep_path_graph_vertex(&g, 1), -E2BIG);
	/* Nothing but duplicates, which the end of the graph's construction finds. */
	for (i = 0; i < DEP_PATH_EDGES - DEP_PATH_VERTICES + 2; i++)
		edge(&g, 0, 1, DEP_PATH_TAKEN);
	/* All other blocks need an edge to the exit: one too many. */
	assert_int_equal(dep_path_graph_finish(&g), -E2BIG);
	dep_path_graph_free(&g);
	blocks(&g, 2);
	for (i = 0; i < DEP_PATH_EDGES; i++)
		edge(&g, 0, 1, DEP_PATH_TAKEN);
	assert_int_equal(dep_path_graph_edge(&g, 0, 1, DEP_PATH_TAKEN, 0), -E2BIG);
	dep_path_graph_free(&g);
	assert_int_equal(m.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_graphs), cmocka_unit_test(too_large),
	};
	struct rlimit stack;

	/* The stack of the main thread grows up to the limit at hand. */
	if (getrlimit(RLIMIT_STACK, &stack))
		return 1;
	stack.rlim_cur = STACK;
	if (setrlimit(RLIMIT_STACK, &stack))
		return 1;
	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
