// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs, numbers of paths and regeneration, on small graphs whose paths are known: those of Ball
 * and Larus, "Efficient Path Profiling", first.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph_util.h"

/* Figure 1 of the paper, edges in the order in which its figure 2 numbers them. */
#define PAPER	"AC AB BC BD CD DF DE EF F."
/* Figure 9: a loop B, C or D, E. */
#define LOOP	"AB BC BD CE DE EF EB F."

struct fixture {
	struct counted_memory memory;
	struct dep_path_graph graph;
	struct dep_paths paths;
};

static void begin(struct fixture *f, const char *text, u64 limit, bool given_order)
{
	counted_memory_init(&f->memory);
	make_graph(&f->graph, &f->memory.memory, text);
	number_graph(&f->paths, &f->graph, limit, given_order);
}

static void end(struct fixture *f)
{
	dep_paths_free(&f->paths);
	dep_path_graph_free(&f->graph);
	assert_int_equal(f->memory.bytes, 0);
}

static u64 value_of(const struct fixture *f, const char *edge)
{
	u32 to = edge[1] == '.' ? DEP_PATH_EXIT : (u32)(edge[1] - 'A');
	u32 n = dep_path_find_edge(&f->graph, (u32)(edge[0] - 'A'), to);

	assert_int_not_equal(n, DEP_PATH_NONE);
	return f->paths.arc[f->paths.arc_of[n]].value;
}

static enum dep_path_class class_of(const struct fixture *f, const char *edge)
{
	u32 n = dep_path_find_edge(&f->graph, (u32)(edge[0] - 'A'), (u32)(edge[1] - 'A'));

	assert_int_not_equal(n, DEP_PATH_NONE);
	return f->paths.class[n];
}

/* The paths of a graph by number, and their numbers by path. */
static void check_paths(const struct fixture *f, const char *const *path, u64 n)
{
	char text[PATH_TEXT];
	u64 i;

	assert_int_equal(f->paths.total, n);
	for (i = 0; i < n; i++) {
		assert_string_equal(path_text(&f->paths, i, text), path[i]);
		assert_int_equal(number_of(&f->paths, path[i]), i);
	}
}

static void paper_values(void **state)
{
	static const char *const path[] = {
		"^ACDF>.", "^ACDEF>.", "^ABCDF>.", "^ABCDEF>.", "^ABDF>.", "^ABDEF>.",
	};
	static const u64 ways[] = { 6, 4, 2, 2, 1, 1 };
	struct fixture f;
	u32 v;

	(void)state;
	begin(&f, PAPER, DEP_PATH_LIMIT, true);
	check_paths(&f, path, 6);
	for (v = 0; v < 6; v++)
		assert_int_equal(f.paths.paths[v], ways[v]);
	assert_int_equal(value_of(&f, "AC"), 0);
	assert_int_equal(value_of(&f, "AB"), 2);
	assert_int_equal(value_of(&f, "BC"), 0);
	assert_int_equal(value_of(&f, "BD"), 2);
	assert_int_equal(value_of(&f, "CD"), 0);
	assert_int_equal(value_of(&f, "DF"), 0);
	assert_int_equal(value_of(&f, "DE"), 1);
	assert_int_equal(value_of(&f, "EF"), 0);
	assert_true(f.paths.potential == 6);
	assert_false(f.paths.truncated);
	assert_int_equal(f.paths.back_edges, 0);
	end(&f);
}

/* The edge with most paths comes first and adds 0; equal ones stay in their order. */
static void most_paths_first(void **state)
{
	static const char *const path[] = {
		"^ABCDF>.", "^ABCDEF>.", "^ABDF>.", "^ABDEF>.", "^ACDF>.", "^ACDEF>.",
	};
	struct fixture f;

	(void)state;
	begin(&f, PAPER, DEP_PATH_LIMIT, false);
	check_paths(&f, path, 6);
	assert_int_equal(value_of(&f, "AB"), 0);
	assert_int_equal(value_of(&f, "AC"), 4);
	end(&f);
}

/* All four classes of paths, and none that crosses the back edge. */
static void paper_loop(void **state)
{
	static const char *const path[] = {
		"^ABCEF>.", "^ABCE>B", "^ABDEF>.", "^ABDE>B", "BCEF>.", "BCE>B", "BDEF>.", "BDE>B",
	};
	struct fixture f;

	(void)state;
	begin(&f, LOOP, DEP_PATH_LIMIT, true);
	check_paths(&f, path, 8);
	assert_int_equal(class_of(&f, "EB"), DEP_PATH_BACK);
	assert_int_equal(f.paths.back_edges, 1);
	assert_int_equal(f.paths.heads, 1);
	assert_int_equal(number_of(&f.paths, "^ABCEBDEF>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "^BCEF>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "ABCEF>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "CEF>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "^ABCE>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "^ABCF>."), NO_PATH);
	end(&f);
}

/* The first block is the head of a loop: paths of calls and of iterations are different ones. */
static void loop_at_entry(void **state)
{
	static const char *const path[] = { "^A>.", "^AB>A", "A>.", "AB>A" };
	struct fixture f;

	(void)state;
	begin(&f, "A. AB BA", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 4);
	end(&f);
}

/* A block with two back edges: the number says on which one the path ended. */
static void two_back_edges(void **state)
{
	static const char *const path[] = {
		"^ABC>A", "^ABC>B", "^ABC>.", "ABC>A", "ABC>B", "ABC>.", "BC>A", "BC>B", "BC>.",
	};
	struct fixture f;

	(void)state;
	begin(&f, "AB BC CA CB C.", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 9);
	assert_int_equal(f.paths.back_edges, 2);
	end(&f);
}

static void nested_loops(void **state)
{
	struct fixture f;
	char text[PATH_TEXT];
	u64 i, inner = 0;

	(void)state;
	/* B: outer head; C: inner head; D: inner end; E: outer end. */
	begin(&f, "AB BC CD DC DE EB EF F.", DEP_PATH_LIMIT, true);
	assert_int_equal(class_of(&f, "DC"), DEP_PATH_BACK);
	assert_int_equal(class_of(&f, "EB"), DEP_PATH_BACK);
	assert_int_equal(class_of(&f, "DE"), DEP_PATH_INNER);
	/* From each of entry, B and C: to the back edges and to the exit. */
	assert_int_equal(f.paths.total, 9);
	for (i = 0; i < 9; i++)
		inner += !strcmp(path_text(&f.paths, i, text), "CD>C");
	assert_int_equal(inner, 1);
	end(&f);
}

/* The edges of a loop with two entries: which one is the back edge follows from the order. */
static void irreducible(void **state)
{
	static const char *const path[] = {
		"^ABC>B", "^ABC>.", "^AC>B", "^AC>.", "BC>B", "BC>.",
	};
	struct fixture f;

	(void)state;
	begin(&f, "AB AC BC CB C.", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 6);
	assert_int_equal(class_of(&f, "CB"), DEP_PATH_BACK);
	end(&f);
	begin(&f, "AC AB BC CB C.", DEP_PATH_LIMIT, true);
	assert_int_equal(class_of(&f, "BC"), DEP_PATH_BACK);
	assert_int_equal(class_of(&f, "CB"), DEP_PATH_INNER);
	end(&f);
}

static void self_loops(void **state)
{
	static const char *const path[] = { "^AB>.", "^A>." };
	struct dep_path_walk walk;
	struct fixture f;
	u64 number = 0;
	u32 loop, next;

	(void)state;
	begin(&f, "AA AB BB B. A.", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 2);
	assert_int_equal(f.paths.self_loops, 2);
	assert_int_equal(number_of(&f.paths, "^AAAABB>."), 0);
	assert_int_equal(number_of(&f.paths, "^AA>."), 1);
	loop = dep_path_find_edge(&f.graph, 0, 0);
	assert_int_equal(f.paths.arc_of[loop], DEP_PATH_NONE);
	assert_int_equal(dep_path_enter(&f.paths, &walk, 0, true), 0);
	assert_int_equal(dep_path_step(&f.paths, &walk, loop, &number), DEP_PATH_LOOPED);
	next = dep_path_find_edge(&f.graph, 0, 1);
	assert_int_equal(dep_path_step(&f.paths, &walk, next, &number), DEP_PATH_GOES_ON);
	assert_int_equal(dep_path_step(&f.paths, &walk, loop, &number), -EINVAL);
	end(&f);
	/* A block may be nothing but a loop. */
	begin(&f, "AA", DEP_PATH_LIMIT, true);
	assert_int_equal(f.paths.total, 1);
	assert_int_equal(number_of(&f.paths, "^AA>."), 0);
	end(&f);
}

/* Blocks from which nothing leads away end paths; blocks that are not reached have none. */
static void dead_ends(void **state)
{
	static const char *const path[] = { "^AB>.", "^AC>." };
	struct fixture f;
	u32 last;

	(void)state;
	begin(&f, "AB AC C. DC DD", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 2);
	last = dep_path_find_edge(&f.graph, 1, DEP_PATH_EXIT);
	assert_int_equal(f.graph.edge[last].kind, DEP_PATH_UNKNOWN);
	assert_int_equal(f.paths.reached, 3);
	assert_int_equal(class_of(&f, "DC"), DEP_PATH_UNREACHED);
	assert_int_equal(class_of(&f, "DD"), DEP_PATH_UNREACHED);
	assert_int_equal(number_of(&f.paths, "DC>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "^AD>."), NO_PATH);
	end(&f);
}

/* A block that is entered from outside begins paths, as a loop's head does. */
static void other_starts(void **state)
{
	static const char *const path[] = { "^AC>.", "BC>.", "C>." };
	struct fixture f;

	(void)state;
	begin(&f, "^B:2 ^C:1 AC BC C. ^B:3 ^A:4", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 3);
	assert_int_equal(f.graph.starts, 3);
	assert_int_equal(f.graph.start[0].weight, 4);
	assert_int_equal(f.graph.start[1].weight, 5);
	end(&f);
}

/* Paths end at an edge that the caller has chosen; the search does not go over it. */
static void given_ends(void **state)
{
	static const char *const path[] = {
		"^AB>C", "^AB>D", "CE>C", "CE>.", "D>C",
	};
	struct fixture f;

	(void)state;
	begin(&f, "AB !BC !BD CE EC E. !D.", DEP_PATH_LIMIT, true);
	assert_int_equal(f.paths.total, 5);
	end(&f);
	begin(&f, "AB !BC !BD CE EC E. !DC !DD", DEP_PATH_LIMIT, true);
	check_paths(&f, path, 5);
	assert_int_equal(class_of(&f, "BC"), DEP_PATH_GIVEN);
	assert_int_equal(class_of(&f, "DC"), DEP_PATH_GIVEN);
	assert_int_equal(class_of(&f, "DD"), DEP_PATH_SELF);
	assert_int_equal(class_of(&f, "EC"), DEP_PATH_BACK);
	assert_int_equal(dep_path_graph_end_at(&f.graph, 0), -EINVAL);
	assert_true(f.paths.potential == 5);
	assert_false(f.paths.truncated);
	end(&f);
}

/* Two ways to a block have different sums, from which they come back. */
static void partial_paths(void **state)
{
	static const char *const way[] = { "^ACD", "^ABCD", "^ABD" };
	static const u64 sum[] = { 0, 2, 4 };
	struct dep_path path;
	struct fixture f;
	u32 edge[8];
	u64 i;

	(void)state;
	begin(&f, PAPER, DEP_PATH_LIMIT, true);
	for (i = 0; i < 3; i++) {
		assert_int_equal(number_of(&f.paths, way[i]), sum[i]);
		assert_int_equal(dep_path_regenerate_partial(&f.paths, sum[i], 3, &path, edge, 8),
				 0);
		assert_int_equal(path.edges, strlen(way[i]) - 2);
		assert_int_equal(path.last, 3);
		assert_int_equal(path.end, DEP_PATH_NONE);
		assert_int_equal(f.graph.edge[edge[0]].to, way[i][2] - 'A');
	}
	assert_int_equal(dep_path_regenerate_partial(&f.paths, 1, 3, &path, edge, 8), -EINVAL);
	assert_int_equal(dep_path_regenerate_partial(&f.paths, 6, 3, &path, edge, 8), -EINVAL);
	assert_int_equal(dep_path_regenerate_partial(&f.paths, 0, 6, &path, edge, 8), -EINVAL);
	/* 2 is the path A, B, C, D, F. */
	assert_int_equal(dep_path_regenerate_partial(&f.paths, 2, 4, &path, edge, 8), -EINVAL);
	end(&f);
}

static void lengths(void **state)
{
	struct dep_path path;
	struct fixture f;
	u32 edge[3];

	(void)state;
	begin(&f, PAPER, DEP_PATH_LIMIT, true);
	edge[1] = edge[2] = 77;
	assert_int_equal(dep_path_regenerate(&f.paths, 3, &path, edge, 1), 0);
	assert_int_equal(path.edges, 5);
	assert_int_equal(edge[1], 77);
	assert_int_equal(path.insns, 1 + 2 + 3 + 4 + 5 + 6);
	assert_int_equal(path.last, 5);
	assert_int_equal(dep_path_regenerate(&f.paths, 3, &path, NULL, 0), 0);
	assert_int_equal(dep_path_regenerate(&f.paths, 6, &path, edge, 3), -EINVAL);
	assert_int_equal(dep_path_regenerate(&f.paths, UINT64_MAX, &path, edge, 3), -EINVAL);
	end(&f);
}

/* A ladder: @n times a choice between two ways, so 2^n paths. */
static void ladder(struct dep_path_graph *g, const struct dep_path_memory *m, u32 n)
{
	u32 i;

	dep_path_graph_init(g, m);
	assert_int_equal(add_blocks(g, 2 * n + 1), 0);
	for (i = 0; i < n; i++) {
		assert_true(dep_path_graph_edge(g, 2 * i, 2 * i + 1, DEP_PATH_FALL_THROUGH,
						0) >= 0);
		assert_true(dep_path_graph_edge(g, 2 * i, 2 * i + 2, DEP_PATH_TAKEN, 0) >= 0);
		assert_true(dep_path_graph_edge(g, 2 * i + 1, 2 * i + 2, DEP_PATH_FALL_THROUGH,
						0) >= 0);
	}
	assert_true(dep_path_graph_edge(g, 2 * n, DEP_PATH_EXIT, DEP_PATH_RETURN, 0) >= 0);
	assert_int_equal(dep_path_graph_finish(g), 0);
}

/* Walk a whole ladder by the edges that @choose says; each path that ends must come back. */
static void walk_ladder(const struct dep_paths *p, u32 n, u64 choose)
{
	const struct dep_path_graph *g = p->graph;
	u32 block[256], blocks = 0, i, edge, at = 0;
	struct dep_path_walk walk;
	struct dep_path path;
	u64 number, again;
	bool called = true;
	int step;

	assert_int_equal(dep_path_enter(p, &walk, 0, true), 0);
	block[blocks++] = 0;
	for (i = 0; i < 2 * n + 1 && at != DEP_PATH_EXIT; i++) {
		edge = at % 2 || at == 2 * n ? g->out[g->first[at]] :
		       g->out[g->first[at] + (choose >> at / 2 % 64 & 1)];
		at = g->edge[edge].to;
		step = dep_path_step(p, &walk, edge, &number);
		assert_true(step >= 0);
		if (step == DEP_PATH_ENDED) {
			assert_true(number < p->total);
			assert_int_equal(dep_path_number(p, block, blocks, called, at, &again), 0);
			assert_true(number == again);
			assert_int_equal(dep_path_regenerate(p, number, &path, NULL, 0), 0);
			assert_int_equal(path.edges + 1, blocks);
			assert_int_equal(path.end, edge);
			blocks = 0;
			called = false;
		}
		if (at != DEP_PATH_EXIT)
			block[blocks++] = at;
	}
	assert_int_equal(at, DEP_PATH_EXIT);
}

static void cut_ladders(void **state)
{
	static const struct {
		u32 n;
		u64 limit;
		bool truncated;
	} cases[] = {
		{ 61, DEP_PATH_LIMIT, false }, { 62, DEP_PATH_LIMIT, false },
		{ 63, DEP_PATH_LIMIT, true }, { 100, DEP_PATH_LIMIT, true },
		{ 31, DEP_PATH_ENGINE_LIMIT, false }, { 32, DEP_PATH_ENGINE_LIMIT, true },
		{ 100, DEP_PATH_ENGINE_LIMIT, true }, { 100, 1000, true },
	};
	struct counted_memory m;
	struct dep_path_graph g;
	struct dep_paths p;
	size_t i;

	(void)state;
	counted_memory_init(&m);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ladder(&g, &m.memory, cases[i].n);
		number_graph(&p, &g, cases[i].limit, i & 1);
		assert_true(p.truncated == cases[i].truncated);
		assert_true(p.total <= cases[i].limit);
		assert_true(p.potential == (u128)1 << cases[i].n);
		assert_true(p.truncated || p.total == p.potential);
		assert_true(!p.truncated == !p.cut_vertices);
		walk_ladder(&p, cases[i].n, 0x5a5af00f12345678ull * (i + 1));
		walk_ladder(&p, cases[i].n, 0);
		walk_ladder(&p, cases[i].n, UINT64_MAX);
		dep_paths_free(&p);
		dep_path_graph_free(&g);
	}
	/* 2^128 does not fit: all bits are set. */
	ladder(&g, &m.memory, 128);
	number_graph(&p, &g, DEP_PATH_LIMIT, false);
	assert_true(p.potential == ~(u128)0);
	dep_paths_free(&p);
	dep_path_graph_free(&g);
	assert_int_equal(m.bytes, 0);
}

/*
 * Which edges are cut.  A vertex with more paths than the limit would be A alone, which has 32, but
 * then B and C begin 32 paths themselves.  So each vertex may have 15 at most: C, with 16, is cut.
 */
static void cut_edges(void **state)
{
	static const char ladder[] = "AB AC BC CD CE DE EF EG FG GH GI HI IJ IK JK K.";
	struct fixture f;

	(void)state;
	begin(&f, ladder, 31, true);
	assert_true(f.paths.truncated);
	assert_int_equal(f.paths.cut_vertices, 1);
	assert_true(f.paths.potential == 32);
	assert_int_equal(class_of(&f, "AB"), DEP_PATH_INNER);
	assert_int_equal(class_of(&f, "CD"), DEP_PATH_CUT);
	assert_int_equal(class_of(&f, "CE"), DEP_PATH_CUT);
	assert_int_equal(class_of(&f, "EF"), DEP_PATH_INNER);
	/* Two ways to C with two cut edges each; then those from D and E. */
	assert_int_equal(f.paths.total, 4 + 8 + 8);
	assert_int_not_equal(number_of(&f.paths, "^ABC>D"), NO_PATH);
	assert_int_not_equal(number_of(&f.paths, "^AC>E"), NO_PATH);
	assert_int_not_equal(number_of(&f.paths, "EFGIK>."), NO_PATH);
	assert_int_equal(number_of(&f.paths, "^ACEGIK>."), NO_PATH);
	end(&f);
	/* Potential paths are also those from other starts and behind back edges, without cuts. */
	begin(&f, "AB AC BC CD CE DE EF EG FG GH GI HI IJ IK JK K. KC ^G", 31, true);
	assert_true(f.paths.truncated);
	assert_true(f.paths.potential == 2 * (32 + 16 + 4));
	end(&f);
	begin(&f, ladder, 32, true);
	assert_false(f.paths.truncated);
	assert_int_equal(f.paths.total, 32);
	end(&f);
}

static void bad_limits(void **state)
{
	struct dep_path_options options = { .limit = 0 };
	struct fixture f;
	struct dep_paths p;

	(void)state;
	begin(&f, PAPER, DEP_PATH_LIMIT, true);
	assert_int_equal(dep_paths_number(&p, &f.graph, &options), -EINVAL);
	options.limit = DEP_PATH_LIMIT + 1;
	assert_int_equal(dep_paths_number(&p, &f.graph, &options), -EINVAL);
	options.limit = 1;
	assert_int_equal(dep_paths_number(&p, &f.graph, &options), -ERANGE);
	end(&f);
}

static void bad_graphs(void **state)
{
	struct dep_path_options options = { .limit = DEP_PATH_LIMIT };
	struct counted_memory m;
	struct dep_path_graph g;
	struct dep_paths p;

	(void)state;
	counted_memory_init(&m);
	dep_path_graph_init(&g, &m.memory);
	assert_int_equal(dep_path_graph_finish(&g), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 0, DEP_PATH_TAKEN, 0), -EINVAL);
	assert_int_equal(dep_path_graph_start(&g, 0, 0), -EINVAL);
	assert_int_equal(dep_path_graph_vertex(&g, 5), 0);
	assert_int_equal(dep_path_graph_vertex(&g, 5), 1);
	assert_int_equal(dep_path_graph_start(&g, 2, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 2, DEP_PATH_TAKEN, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 2, 0, DEP_PATH_TAKEN, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, DEP_PATH_EXIT, 0, DEP_PATH_TAKEN, 0), -EINVAL);
	/* The kind must fit the target. */
	assert_int_equal(dep_path_graph_edge(&g, 0, DEP_PATH_EXIT, DEP_PATH_TAKEN, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 1, DEP_PATH_RETURN, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 1, DEP_PATH_KINDS, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 1, (enum dep_path_kind)-1, 0), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 1, DEP_PATH_TAKEN, 0), 0);
	assert_int_equal(dep_path_find_edge(&g, 0, 1), DEP_PATH_NONE);
	assert_int_equal(dep_paths_number(&p, &g, &options), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 1, DEP_PATH_INDIRECT, 0), 1);
	assert_int_equal(dep_path_graph_finish(&g), -EINVAL);
	assert_int_equal(dep_paths_number(&p, &g, &options), -EINVAL);
	dep_path_graph_free(&g);
	make_graph(&g, &m.memory, "AB B.");
	assert_int_equal(dep_path_graph_vertex(&g, 1), -EINVAL);
	assert_int_equal(dep_path_graph_edge(&g, 0, 0, DEP_PATH_TAKEN, 0), -EINVAL);
	assert_int_equal(dep_path_graph_start(&g, 1, 0), -EINVAL);
	assert_int_equal(dep_path_graph_finish(&g), -EINVAL);
	assert_int_equal(dep_path_find_edge(&g, 2, 0), DEP_PATH_NONE);
	assert_int_equal(dep_path_find_edge(&g, 0, 7), DEP_PATH_NONE);
	dep_path_graph_free(&g);
	assert_int_equal(m.bytes, 0);
}

/* Steps and blocks that do not fit the graph are refused. */
static void bad_walks(void **state)
{
	u32 block[] = { 0, 1, 77 };
	struct dep_path_walk walk;
	struct fixture f;
	u64 number;

	(void)state;
	begin(&f, LOOP, DEP_PATH_LIMIT, true);
	assert_int_equal(dep_path_enter(&f.paths, &walk, 6, false), -EINVAL);
	assert_int_equal(dep_path_enter(&f.paths, &walk, 1, true), -EINVAL);
	assert_int_equal(dep_path_enter(&f.paths, &walk, 2, false), -EINVAL);
	assert_int_equal(dep_path_enter(&f.paths, &walk, 1, false), 0);
	assert_int_equal(dep_path_step(&f.paths, &walk, 0, &number), -EINVAL);
	assert_int_equal(dep_path_step(&f.paths, &walk, f.graph.edges, &number), -EINVAL);
	assert_int_equal(dep_path_step(&f.paths, &walk, DEP_PATH_NONE, &number), -EINVAL);
	assert_int_equal(dep_path_number(&f.paths, block, 0, true, 0, &number), -EINVAL);
	assert_int_equal(dep_path_number(&f.paths, block, 3, true, 0, &number), -EINVAL);
	assert_int_equal(dep_path_number(&f.paths, block, 2, true, 99, &number), -EINVAL);
	/* What a path ends on cannot be in its middle. */
	assert_int_equal(number_of(&f.paths, "^ABCEB"), NO_PATH);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_values), cmocka_unit_test(most_paths_first),
		cmocka_unit_test(paper_loop), cmocka_unit_test(loop_at_entry),
		cmocka_unit_test(two_back_edges), cmocka_unit_test(nested_loops),
		cmocka_unit_test(irreducible), cmocka_unit_test(self_loops),
		cmocka_unit_test(dead_ends), cmocka_unit_test(other_starts),
		cmocka_unit_test(given_ends), cmocka_unit_test(partial_paths),
		cmocka_unit_test(lengths),
		cmocka_unit_test(cut_ladders), cmocka_unit_test(cut_edges),
		cmocka_unit_test(bad_limits), cmocka_unit_test(bad_graphs),
		cmocka_unit_test(bad_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
