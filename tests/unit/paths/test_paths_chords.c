// SPDX-License-Identifier: GPL-2.0-or-later
/* Chords, the placement of instrumentation, its costs, and weights that are guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph_util.h"
#include "libdep/paths/loops.h"
#include "libdep/paths/placement.h"
#include "libdep/paths/weights.h"

/*
 * The paper's graph with weights that make A, B; C, D; D, F and E, F its spanning tree, as in the
 * paper's figure of the placement.
 */
#define PAPER	"AC:1 AB:9 BC:1 BD:1 CD:9 DF:9 DE:1 EF:9 F.:9"

struct fixture {
	struct counted_memory memory;
	struct dep_path_graph graph;
	struct dep_paths paths;
	struct dep_path_chords chords;
	struct dep_path_placement placement;
	u64 weight[64];
};

static void begin(struct fixture *f, const char *text, u64 entered)
{
	counted_memory_init(&f->memory);
	make_graph(&f->graph, &f->memory.memory, text);
	number_graph(&f->paths, &f->graph, DEP_PATH_LIMIT, true);
	assert_true(f->paths.arcs <= 64);
	dep_path_measured_weights(&f->paths, NULL, entered, f->weight);
	assert_int_equal(dep_path_chords(&f->chords, &f->paths, f->weight), 0);
	assert_int_equal(dep_path_place(&f->placement, &f->chords), 0);
}

static void end(struct fixture *f)
{
	dep_path_placement_free(&f->placement);
	dep_path_chords_free(&f->chords);
	dep_paths_free(&f->paths);
	dep_path_graph_free(&f->graph);
	assert_int_equal(f->memory.bytes, 0);
}

/* The arc of an edge, of the entry ("^") or of a loop's head ("^B"). */
static u32 arc_of(const struct fixture *f, const char *edge)
{
	u32 n;

	if (edge[0] == '^')
		return edge[1] ? f->paths.head[edge[1] - 'A'] : f->paths.entry_arc;
	n = dep_path_find_edge(&f->graph, (u32)(edge[0] - 'A'),
			       edge[1] == '.' ? DEP_PATH_EXIT : (u32)(edge[1] - 'A'));
	assert_int_not_equal(n, DEP_PATH_NONE);
	return f->paths.arc_of[n];
}

static void check_op(const struct fixture *f, const char *edge, enum dep_path_op op, s64 operand)
{
	u32 arc = arc_of(f, edge);

	assert_int_equal(f->placement.op[arc], op);
	assert_int_equal(f->placement.operand[arc], operand);
}

static void check_chord(const struct fixture *f, const char *edge, s64 increment)
{
	u32 arc = arc_of(f, edge);

	assert_true(f->chords.chord[arc]);
	assert_int_equal(f->chords.increment[arc], increment);
}

static void paper_increments(void **state)
{
	struct fixture f;
	u64 i;

	(void)state;
	begin(&f, PAPER, 9);
	assert_int_equal(f.chords.chords, 4);
	check_chord(&f, "AC", 0);
	check_chord(&f, "BC", 2);
	check_chord(&f, "BD", 4);
	check_chord(&f, "DE", 1);
	assert_int_equal(f.chords.largest, 4);
	for (i = 0; i < f.paths.total; i++)
		assert_int_equal(sum_of_increments(&f.chords, i), i);
	end(&f);
}

/* The paper's figure: the register is set on three chords, and D, E counts with its increment. */
static void paper_placement(void **state)
{
	struct dep_path_cost fixed, executed;
	struct fixture f;

	(void)state;
	begin(&f, PAPER, 9);
	check_op(&f, "^", DEP_PATH_NOTHING, 0);
	check_op(&f, "AB", DEP_PATH_NOTHING, 0);
	check_op(&f, "AC", DEP_PATH_SET, 0);
	check_op(&f, "BC", DEP_PATH_SET, 2);
	check_op(&f, "BD", DEP_PATH_SET, 4);
	check_op(&f, "CD", DEP_PATH_NOTHING, 0);
	check_op(&f, "DE", DEP_PATH_COUNT, 1);
	check_op(&f, "DF", DEP_PATH_COUNT, 0);
	check_op(&f, "EF", DEP_PATH_NOTHING, 0);
	assert_int_equal(dep_path_cost(&f.placement, &f.chords, NULL, 9, &fixed, &executed), 0);
	assert_int_equal(fixed.placed.edges, 5);
	assert_int_equal(fixed.placed.op[DEP_PATH_SET], 3);
	assert_int_equal(fixed.placed.op[DEP_PATH_ADD], 0);
	assert_int_equal(fixed.placed.op[DEP_PATH_COUNT], 2);
	/* Without merging: set at the entry, count at the exit, and three increments. */
	assert_int_equal(fixed.chords.op[DEP_PATH_SET], 1);
	assert_int_equal(fixed.chords.op[DEP_PATH_ADD], 3);
	assert_int_equal(fixed.chords.op[DEP_PATH_COUNT], 1);
	assert_int_equal(fixed.chords.edges, 1 + 3 + 1);
	/* Values: A, B; B, D; D, E. */
	assert_int_equal(fixed.values.op[DEP_PATH_ADD], 3);
	assert_int_equal(executed.values.op[DEP_PATH_ADD], 9 + 1 + 1);
	assert_int_equal(executed.chords.op[DEP_PATH_ADD], 1 + 1 + 1);
	assert_int_equal(executed.chords.edges, 9 + 3 + 9);
	assert_int_equal(executed.values.edges, 9 + 11 + 9);
	assert_int_equal(executed.placed.op[DEP_PATH_SET], 1 + 1 + 1);
	assert_int_equal(executed.placed.op[DEP_PATH_COUNT], 1 + 9);
	assert_int_equal(executed.placed.edges, 1 + 1 + 1 + 1 + 9);
	end(&f);
}

/* One path: the only chord counts, by a constant. */
static void one_path(void **state)
{
	struct dep_path_cost fixed;
	struct fixture f;
	u32 i, ops = 0;

	(void)state;
	begin(&f, "AB BC C.", 5);
	check_chord(&f, "C.", 0);
	assert_int_equal(f.chords.chords, 1);
	for (i = 0; i < f.paths.arcs; i++)
		ops += f.placement.op[i] != DEP_PATH_NOTHING;
	assert_int_equal(ops, 1);
	check_op(&f, "C.", DEP_PATH_COUNT_CONSTANT, 0);
	assert_int_equal(dep_path_cost(&f.placement, &f.chords, NULL, 5, &fixed, NULL), 0);
	assert_int_equal(fixed.placed.edges, 1);
	end(&f);
}

/* A path that a branch decides alone counts by a constant. */
static void constants(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "AB:5 AC:3 B.:5 C.:3", 8);
	check_op(&f, "^", DEP_PATH_NOTHING, 0);
	check_op(&f, "AB", DEP_PATH_NOTHING, 0);
	check_op(&f, "AC", DEP_PATH_NOTHING, 0);
	check_op(&f, "B.", DEP_PATH_COUNT_CONSTANT, 0);
	check_op(&f, "C.", DEP_PATH_COUNT_CONSTANT, 1);
	end(&f);
	/* The register is set where calls are rare, and the counts move up from D to A's edges. */
	begin(&f, "AB:5 AC:3 BD:9 CD:9 D.:9", 1);
	check_op(&f, "^", DEP_PATH_SET, 0);
	check_op(&f, "AB", DEP_PATH_COUNT, 0);
	check_op(&f, "AC", DEP_PATH_COUNT, 1);
	check_op(&f, "BD", DEP_PATH_NOTHING, 0);
	check_op(&f, "CD", DEP_PATH_NOTHING, 0);
	check_op(&f, "D.", DEP_PATH_NOTHING, 0);
	end(&f);
}

static u64 all_ops(const struct dep_path_ops *ops)
{
	u64 sum = 0;
	u32 i;

	for (i = DEP_PATH_SET; i < DEP_PATH_OPS; i++)
		sum += ops->op[i];
	return sum;
}

/* A hot loop: its back edge counts and sets the register anew, and both add nothing. */
static void loop(void **state)
{
	struct dep_path_cost executed;
	struct fixture f;
	u64 i, increments;
	u32 counters;

	(void)state;
	begin(&f, "AB:1 BC:90 BD:10 CE:90 DE:10 EF:1 EB:99 F.:1", 1);
	assert_int_equal(f.paths.total, 8);
	assert_int_equal(f.weight[arc_of(&f, "^B")], 99);
	for (i = 0; i < f.paths.total; i++)
		assert_int_equal(sum_of_increments(&f.chords, i), i);
	assert_false(f.chords.chord[arc_of(&f, "^B")]);
	assert_false(f.chords.chord[arc_of(&f, "EB")]);
	assert_false(f.chords.chord[arc_of(&f, "BC")]);
	assert_int_equal(dep_path_cost(&f.placement, &f.chords, NULL, 1, NULL, &executed), 0);
	/* A path ends 100 times. */
	assert_int_equal(executed.values.op[DEP_PATH_COUNT], 100);
	assert_int_equal(executed.chords.op[DEP_PATH_COUNT], 100);
	assert_int_equal(executed.placed.op[DEP_PATH_COUNT] +
			 executed.placed.op[DEP_PATH_COUNT_CONSTANT], 100);
	/* Merging never adds an operation to a path. */
	assert_true(all_ops(&executed.placed) < all_ops(&executed.chords));
	/* The tree has B, C, E and the back edge; of the rest one edge of 10 and one of 1 count. */
	assert_int_equal(dep_path_edge_counters(&f.paths, NULL, 1, &counters, &increments), 0);
	assert_int_equal(counters, 3);
	assert_int_equal(increments, 10 + 90 + 1);
	end(&f);
}

static void self_loop_counters(void **state)
{
	struct dep_path_cost fixed, executed;
	struct fixture f;
	u64 increments;
	u32 counters;

	(void)state;
	begin(&f, "AB:2 BB:70 B.:2", 2);
	assert_int_equal(dep_path_cost(&f.placement, &f.chords, NULL, 2, &fixed, &executed), 0);
	assert_int_equal(fixed.self_loops, 1);
	assert_int_equal(executed.self_loops, 70);
	assert_int_equal(executed.placed.op[DEP_PATH_COUNT_CONSTANT], 2);
	assert_int_equal(executed.placed.edges, 72);
	assert_int_equal(dep_path_edge_counters(&f.paths, NULL, 2, &counters, &increments), 0);
	assert_int_equal(counters, 2);
	assert_int_equal(increments, 72);
	end(&f);
}

/* Loops: F alone; B to E with D, E inside. */
#define NESTED	"AB BC BG CD DE ED EF FB FF GH GI H. I."

static void loop_nesting(void **state)
{
	static const u32 expected[] = {
		DEP_PATH_NONE, DEP_PATH_NONE, 1, 1, 3, 1, DEP_PATH_NONE, DEP_PATH_NONE,
		DEP_PATH_NONE,
	};
	u32 around[9], v;
	struct fixture f;
	u8 head[9];

	(void)state;
	begin(&f, NESTED, 0);
	assert_int_equal(dep_path_loops(&f.paths, around, head), 0);
	for (v = 0; v < 9; v++) {
		assert_int_equal(around[v], expected[v]);
		assert_int_equal(head[v], v == 1 || v == 3);
	}
	end(&f);
}

/* A loop that is entered past its head has only what the search found behind the head. */
static void irreducible_loop(void **state)
{
	u32 around[4];
	struct fixture f;
	u8 head[4];

	(void)state;
	begin(&f, "AB AD BC CB C. DC", 0);
	assert_int_equal(dep_path_loops(&f.paths, around, head), 0);
	assert_int_equal(head[1], 1);
	assert_int_equal(around[2], 1);
	assert_int_equal(around[3], DEP_PATH_NONE);
	end(&f);
}

static void measured(void **state)
{
	struct fixture f;
	u64 count[8] = { 0 };

	(void)state;
	begin(&f, "AB:3 BC:9 CB:6 C.:4 ^B:1", 3);
	assert_int_equal(f.weight[arc_of(&f, "^")], 3);
	assert_int_equal(f.weight[arc_of(&f, "^B")], 6 + 1);
	assert_int_equal(f.weight[arc_of(&f, "CB")], 6);
	/* Counts of the caller take the place of those in the graph. */
	count[dep_path_find_edge(&f.graph, 2, 1)] = 70;
	dep_path_measured_weights(&f.paths, count, 4, f.weight);
	assert_int_equal(f.weight[arc_of(&f, "^")], 4);
	assert_int_equal(f.weight[arc_of(&f, "^B")], 70 + 1);
	assert_int_equal(f.weight[arc_of(&f, "BC")], 0);
	end(&f);
}

/* What is guessed to leave a loop can be more than what is guessed to be where it leaves. */
static void guessed_exit(void **state)
{
	struct fixture f;
	u64 w[64], calls;

	(void)state;
	begin(&f, "AB BC BD CE CD EG ED GH GD HF HD DB F.", 0);
	assert_int_equal(dep_path_static_weights(&f.paths, w), 0);
	calls = w[f.paths.entry_arc];
	assert_int_equal(w[arc_of(&f, "BC")], 5 * calls);
	assert_int_equal(w[arc_of(&f, "GH")], 10 * calls / 16);
	assert_int_equal(w[arc_of(&f, "HF")], calls);
	assert_int_equal(w[arc_of(&f, "HD")], 0);
	end(&f);
}

/* Ten times in each loop, half on each side of a branch, and a loop loses nothing. */
static void guessed(void **state)
{
	struct fixture f;
	u64 w[64], calls;

	(void)state;
	begin(&f, NESTED, 0);
	assert_int_equal(dep_path_static_weights(&f.paths, w), 0);
	calls = w[f.paths.entry_arc];
	assert_int_equal(w[arc_of(&f, "AB")], calls);
	assert_int_equal(w[arc_of(&f, "BG")], calls);
	assert_int_equal(w[arc_of(&f, "BC")], 9 * calls);
	assert_int_equal(w[arc_of(&f, "CD")], 9 * calls);
	assert_int_equal(w[arc_of(&f, "DE")], 90 * calls);
	assert_int_equal(w[arc_of(&f, "EF")], 9 * calls);
	assert_int_equal(w[arc_of(&f, "ED")], 81 * calls);
	assert_int_equal(w[arc_of(&f, "^D")], 81 * calls);
	assert_int_equal(w[arc_of(&f, "FB")], 9 * calls);
	assert_int_equal(w[arc_of(&f, "GH")], calls / 2);
	assert_int_equal(w[arc_of(&f, "GI")], calls / 2);
	assert_int_equal(w[arc_of(&f, "H.")], calls / 2);
	end(&f);
}

/* A cut is no loop: the guess is the same as without. */
static void guessed_with_cuts(void **state)
{
	static const char ladder[] = "AB AC BC CD CE DE EF EG FG GH GI HI IJ IK JK K.";
	struct fixture f, cut;
	u64 w[64], of_cut[64];
	u32 i;

	(void)state;
	begin(&f, ladder, 0);
	counted_memory_init(&cut.memory);
	make_graph(&cut.graph, &cut.memory.memory, ladder);
	number_graph(&cut.paths, &cut.graph, 31, true);
	assert_true(cut.paths.truncated);
	assert_int_equal(dep_path_static_weights(&f.paths, w), 0);
	assert_int_equal(dep_path_static_weights(&cut.paths, of_cut), 0);
	for (i = 0; i < f.graph.edges; i++)
		assert_int_equal(w[f.paths.arc_of[i]], of_cut[cut.paths.arc_of[i]]);
	dep_paths_free(&cut.paths);
	dep_path_graph_free(&cut.graph);
	end(&f);
}

/* Weights up to the largest number saturate. */
static void large_weights(void **state)
{
	struct dep_path_cost executed;
	struct fixture f;
	u64 i;

	(void)state;
	begin(&f, "AB:18446744073709551615 AC:18446744073709551615 BA:18446744073709551615 "
		  "CA:18446744073709551615 C.:18446744073709551615", UINT64_MAX);
	assert_true(f.weight[arc_of(&f, "^A")] == UINT64_MAX);
	for (i = 0; i < f.paths.total; i++)
		assert_int_equal(sum_of_increments(&f.chords, i), i);
	assert_int_equal(dep_path_cost(&f.placement, &f.chords, NULL, UINT64_MAX, NULL, &executed),
			 0);
	assert_true(executed.values.op[DEP_PATH_COUNT] == UINT64_MAX);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_increments), cmocka_unit_test(paper_placement),
		cmocka_unit_test(one_path), cmocka_unit_test(constants), cmocka_unit_test(loop),
		cmocka_unit_test(self_loop_counters), cmocka_unit_test(loop_nesting),
		cmocka_unit_test(irreducible_loop), cmocka_unit_test(measured),
		cmocka_unit_test(guessed), cmocka_unit_test(guessed_exit),
		cmocka_unit_test(guessed_with_cuts),
		cmocka_unit_test(large_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
