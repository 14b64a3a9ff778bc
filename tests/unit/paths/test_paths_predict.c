// SPDX-License-Identifier: GPL-2.0-or-later
/* What edges say about paths, and paths about edges: the example of the paper's figure 1. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph_util.h"
#include "libdep/paths/predict.h"

#define PAPER	"AC AB BC BD CD DF DE EF F."
#define EDGES	16

struct fixture {
	struct counted_memory memory;
	struct dep_path_graph graph;
	struct dep_paths paths;
	u64 edge[EDGES], block[EDGES];
	u32 likely[EDGES];
};

/* A path and how often it was executed. */
struct executed {
	const char *path;
	u64 count;
};

static void begin(struct fixture *f, const char *text, const struct executed *path, size_t n)
{
	size_t i;

	*f = (struct fixture){ 0 };
	counted_memory_init(&f->memory);
	make_graph(&f->graph, &f->memory.memory, text);
	number_graph(&f->paths, &f->graph, DEP_PATH_LIMIT, true);
	assert_true(f->graph.edges <= EDGES);
	for (i = 0; i < n; i++)
		assert_int_equal(dep_path_count_edges(&f->paths,
						      number_of(&f->paths, path[i].path),
						      path[i].count, f->edge, f->block), 0);
	dep_path_likely_edges(&f->paths, f->edge, f->likely);
}

static void end(struct fixture *f)
{
	dep_paths_free(&f->paths);
	dep_path_graph_free(&f->graph);
	assert_int_equal(f->memory.bytes, 0);
}

static u64 count_of(const struct fixture *f, const char *edge)
{
	u32 n = dep_path_find_edge(&f->graph, (u32)(edge[0] - 'A'),
				   edge[1] == '.' ? DEP_PATH_EXIT : (u32)(edge[1] - 'A'));

	assert_int_not_equal(n, DEP_PATH_NONE);
	return f->edge[n];
}

static const struct executed profile_1[] = {
	{ "^ACDF>.", 90 }, { "^ACDEF>.", 60 }, { "^ABCDF>.", 0 }, { "^ABCDEF>.", 100 },
	{ "^ABDF>.", 20 }, { "^ABDEF>.", 0 },
};

static const struct executed profile_2[] = {
	{ "^ACDF>.", 110 }, { "^ACDEF>.", 40 }, { "^ABCDF>.", 0 }, { "^ABCDEF>.", 100 },
	{ "^ABDF>.", 0 }, { "^ABDEF>.", 20 },
};

/* Two profiles of paths with equal counts of edges, which predict the hottest path of neither. */
static void paper_example(void **state)
{
	char text[PATH_TEXT];
	struct fixture f, g;
	u64 number;

	(void)state;
	begin(&f, PAPER, profile_1, 6);
	begin(&g, PAPER, profile_2, 6);
	assert_memory_equal(f.edge, g.edge, sizeof(f.edge));
	assert_memory_equal(f.block, g.block, sizeof(f.block));
	assert_int_equal(count_of(&f, "AC"), 150);
	assert_int_equal(count_of(&f, "AB"), 120);
	assert_int_equal(count_of(&f, "BC"), 100);
	assert_int_equal(count_of(&f, "BD"), 20);
	assert_int_equal(count_of(&f, "CD"), 250);
	assert_int_equal(count_of(&f, "DE"), 160);
	assert_int_equal(count_of(&f, "DF"), 110);
	assert_int_equal(count_of(&f, "EF"), 160);
	assert_int_equal(count_of(&f, "F."), 270);
	assert_int_equal(f.block[3], 270);
	assert_int_equal(dep_path_predict(&f.paths, f.likely, 0, true, &number), 0);
	assert_string_equal(path_text(&f.paths, number, text), "^ACDEF>.");
	end(&f);
	end(&g);
}

/* Lengths by hand: block i has i + 1 instructions. */
static void compare(void **state)
{
	struct dep_path_prediction sum = { 0 };
	struct fixture f;
	size_t i;

	(void)state;
	begin(&f, PAPER, profile_1, 6);
	for (i = 0; i < 6; i++)
		if (profile_1[i].count)
			assert_int_equal(dep_path_compare(&f.paths, f.likely,
							  number_of(&f.paths, profile_1[i].path),
							  profile_1[i].count, &sum), 0);
	assert_int_equal(sum.paths, 4);
	assert_int_equal(sum.executions, 270);
	assert_int_equal(sum.whole, 1);
	assert_int_equal(sum.whole_executions, 60);
	/* ACDF, ACDEF, ABCDEF, ABDF: 3, 4, 5 and 3 edges; 14, 19, 21 and 13 instructions. */
	assert_true(sum.executed.edges == 90 * 3 + 60 * 4 + 100 * 5 + 20 * 3);
	assert_true(sum.executed.insns == 90 * 14 + 60 * 19 + 100 * 21 + 20 * 13);
	/* Up to D, F; whole; up to A, B twice. */
	assert_true(sum.predicted.edges == 90 * 2 + 60 * 4);
	assert_true(sum.predicted.insns == 90 * 8 + 60 * 19 + 100 * 1 + 20 * 1);
	assert_int_equal(sum.executed.longest_edges, 5);
	assert_int_equal(sum.executed.longest_insns, 21);
	assert_int_equal(sum.predicted.longest_edges, 4);
	assert_int_equal(sum.predicted.longest_insns, 19);
	assert_int_equal(dep_path_compare(&f.paths, f.likely, 6, 1, &sum), -EINVAL);
	end(&f);
}

/* The edge on which a path ends must be predicted, and counts if it leads to a block. */
static void last_edge(void **state)
{
	static const struct executed path[] = { { "^AB>A", 1 }, { "AB>A", 6 }, { "AB>.", 1 } };
	struct dep_path_prediction sum = { 0 };
	struct fixture f;
	u64 number;

	(void)state;
	begin(&f, "AB BA B.", path, 3);
	assert_int_equal(count_of(&f, "BA"), 7);
	assert_int_equal(dep_path_predict(&f.paths, f.likely, 0, false, &number), 0);
	assert_int_equal(number, number_of(&f.paths, "AB>A"));
	assert_int_equal(dep_path_predict(&f.paths, f.likely, 1, false, &number), -EINVAL);
	assert_int_equal(dep_path_compare(&f.paths, f.likely, number, 6, &sum), 0);
	assert_true(sum.executed.edges == 12 && sum.predicted.edges == 12);
	assert_int_equal(sum.whole, 1);
	assert_int_equal(dep_path_compare(&f.paths, f.likely, number_of(&f.paths, "AB>."), 1, &sum),
			 0);
	assert_true(sum.executed.edges == 13 && sum.predicted.edges == 13);
	assert_int_equal(sum.whole, 1);
	end(&f);
}

/* Equal counts: the taken edge; else the first one.  Self loops are no candidates. */
static void ties(void **state)
{
	static const struct executed path[] = {
		{ "^AB>.", 4 }, { "^AC>.", 4 }, { "^AD>.", 4 },
	};
	struct fixture f;

	(void)state;
	begin(&f, "AB AC AD B. C. D.", path, 3);
	assert_int_equal(f.graph.edge[f.likely[0]].to, 2);
	end(&f);
	begin(&f, "AB AC AD BB BE CE D. E.", NULL, 0);
	f.edge[dep_path_find_edge(&f.graph, 1, 1)] = 1000;
	dep_path_likely_edges(&f.paths, f.edge, f.likely);
	assert_int_equal(f.graph.edge[f.likely[1]].to, 4);
	end(&f);
	/* Jump tables have no taken edge after the first two. */
	begin(&f, "AA AB AC AD B. C. D.", NULL, 0);
	assert_int_equal(f.graph.edge[f.likely[0]].to, 1);
	end(&f);
	begin(&f, "AA AB:3 AC:3 AD:2 B. C. D.", NULL, 0);
	dep_path_likely_edges(&f.paths, NULL, f.likely);
	assert_int_equal(f.graph.edge[f.likely[0]].to, 1);
	end(&f);
}

/* A partial path counts the edges that it followed and the block at which it stopped. */
static void partial(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, PAPER, NULL, 0);
	assert_int_equal(dep_path_count_partial(&f.paths, number_of(&f.paths, "^ABCD"), 3, 7,
						f.edge, f.block), 0);
	assert_int_equal(count_of(&f, "AB"), 7);
	assert_int_equal(count_of(&f, "BC"), 7);
	assert_int_equal(count_of(&f, "CD"), 7);
	assert_int_equal(count_of(&f, "DE") + count_of(&f, "DF"), 0);
	assert_int_equal(f.block[3], 7);
	assert_int_equal(f.block[4] + f.block[5], 0);
	/* It may stop at its first block; either list may be left out; counters saturate. */
	assert_int_equal(dep_path_count_partial(&f.paths, 0, 0, UINT64_MAX, NULL, f.block), 0);
	assert_true(f.block[0] == UINT64_MAX);
	assert_int_equal(dep_path_count_partial(&f.paths, 1, 3, 1, f.edge, f.block), -EINVAL);
	assert_int_equal(dep_path_count_edges(&f.paths, 6, 1, f.edge, f.block), -EINVAL);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_example), cmocka_unit_test(compare),
		cmocka_unit_test(last_edge), cmocka_unit_test(ties), cmocka_unit_test(partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
