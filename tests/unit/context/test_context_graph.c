// SPDX-License-Identifier: GPL-2.0-or-later
/* Call graphs, their encodings and dictionaries, PCCE, and when to encode anew. */
#include "context_steps.h"

static u32 edge(struct model *m, u32 caller, u64 site, u32 callee)
{
	u32 e = dep_cc_graph_edge(&m->en.graph, caller, site, callee,
				  caller == DEP_CC_ROOT ? DEP_CC_START : DEP_CC_CALL);

	assert_int_not_equal(e, DEP_CC_NONE);
	return e;
}

static void sample(struct model *m, u32 e, u32 n)
{
	while (n--)
		dep_cc_graph_sample(&m->en.graph, e);
}

static u8 how(const struct model *m, u32 e)
{
	return dep_cc_code_of(&m->en.encoding, e).how;
}

static u64 add(const struct model *m, u32 e)
{
	assert_int_equal(how(m, e), DEP_CC_ENCODED);
	return dep_cc_code_of(&m->en.encoding, e).add;
}

static u64 contexts(const struct model *m, u32 node)
{
	return m->en.encoding.dictionary->contexts[node];
}

static void identities(void **state)
{
	struct model m;
	u32 a, b, e;

	(void)state;
	model_init(&m);
	a = dep_cc_graph_node(&m.en.graph, 5, 0);
	b = dep_cc_graph_node(&m.en.graph, 5, 1);
	assert_int_not_equal(a, b);
	assert_int_equal(dep_cc_graph_node(&m.en.graph, 5, 0), a);
	e = dep_cc_graph_edge(&m.en.graph, a, 7, b, DEP_CC_CALL);
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, a, 7, b, DEP_CC_CALL), e);
	assert_int_equal(dep_cc_graph_find(&m.en.graph, a, 7, b, DEP_CC_CALL), e);
	assert_int_not_equal(dep_cc_graph_edge(&m.en.graph, a, 7, b, DEP_CC_TAIL), e);
	assert_int_not_equal(dep_cc_graph_edge(&m.en.graph, a, 8, b, DEP_CC_CALL), e);
	assert_int_equal(dep_cc_graph_find(&m.en.graph, b, 7, a, DEP_CC_CALL), DEP_CC_NONE);
	/* Nothing calls the root, and it calls by start edges only. */
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, a, 7, DEP_CC_ROOT, DEP_CC_CALL),
			 DEP_CC_NONE);
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, DEP_CC_ROOT, 0, a, DEP_CC_CALL),
			 DEP_CC_NONE);
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, a, 0, b, DEP_CC_START), DEP_CC_NONE);
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, a, 0, 99, DEP_CC_CALL), DEP_CC_NONE);
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, a, 0, b, DEP_CC_KINDS), DEP_CC_NONE);
	/* Limits. */
	m.en.graph.max = m.en.graph.nedges;
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, b, 9, a, DEP_CC_CALL), DEP_CC_NONE);
	assert_int_equal(dep_cc_graph_edge(&m.en.graph, a, 7, b, DEP_CC_CALL), e);
	m.en.graph.max = m.en.graph.nnodes;
	assert_int_equal(dep_cc_graph_node(&m.en.graph, 6, 0), DEP_CC_NONE);
	model_free(&m);
}

/* Contexts of figure 1: A calls B and C, which call D.  Only the call CD adds something. */
static void figure_1(void **state)
{
	struct model m;
	u32 a, b, c, d, ab, ac, bd, cd;

	(void)state;
	model_init(&m);
	a = fn(&m, 'A');
	b = fn(&m, 'B');
	c = fn(&m, 'C');
	d = fn(&m, 'D');
	edge(&m, DEP_CC_ROOT, 0, a);
	ab = edge(&m, a, 1, b);
	ac = edge(&m, a, 2, c);
	bd = edge(&m, b, 3, d);
	cd = edge(&m, c, 4, d);
	assert_int_equal(how(&m, cd), DEP_CC_NEW);
	model_encode(&m);
	assert_int_equal(add(&m, ab), 0);
	assert_int_equal(add(&m, ac), 0);
	assert_int_equal(add(&m, bd), 0);
	assert_int_equal(add(&m, cd), 1);
	assert_int_equal(contexts(&m, d), 2);
	assert_int_equal(m.en.encoding.dictionary->max_id, 1);
	assert_int_equal(m.en.encoding.dictionary->made.zero, 4);
	/* The hottest edge to a node adds 0. */
	sample(&m, cd, 10);
	sample(&m, bd, 2);
	model_encode(&m);
	assert_int_equal(add(&m, cd), 0);
	assert_int_equal(add(&m, bd), 1);
	/* Heat fades: 10 / 2 is less than 2 / 2 + 5. */
	sample(&m, bd, 5);
	model_encode(&m);
	assert_int_equal(add(&m, bd), 0);
	assert_int_equal(add(&m, cd), 1);
	model_free(&m);
}

/* A new edge can close a cycle with older ones, and the largest id can fall. */
static void back_edges(void **state)
{
	struct model m;
	u32 a, b, c, d, dc, cd, e;
	u64 before;

	(void)state;
	model_init(&m);
	a = fn(&m, 'A');
	b = fn(&m, 'B');
	c = fn(&m, 'C');
	d = fn(&m, 'D');
	edge(&m, DEP_CC_ROOT, 0, a);
	edge(&m, a, 1, b);
	edge(&m, a, 2, d);
	edge(&m, a, 3, d);
	dc = edge(&m, d, 4, c);
	model_encode(&m);
	before = m.en.encoding.dictionary->max_id;
	assert_int_equal(before, 1);
	/* B is searched before D, so now C is reached from it, and DC is a back edge. */
	edge(&m, b, 5, c);
	cd = edge(&m, c, 6, d);
	e = edge(&m, d, 7, d);
	model_encode(&m);
	assert_int_equal(how(&m, dc), DEP_CC_RECURSIVE);
	assert_int_equal(how(&m, cd), DEP_CC_ENCODED);
	assert_int_equal(how(&m, e), DEP_CC_RECURSIVE);
	assert_int_equal(m.en.encoding.dictionary->made.back, 2);
	assert_int_equal(contexts(&m, c), 1);
	assert_int_equal(contexts(&m, d), 3);
	model_free(&m);
}

static void same_graph_same_encoding(void **state)
{
	const struct dep_cc_dictionary *x, *y;
	struct model m;
	u32 i, f[60];

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 7);
	model_init(&m);
	for (i = 0; i < 60; i++)
		f[i] = fn(&m, i);
	edge(&m, DEP_CC_ROOT, 0, f[0]);
	for (i = 0; i < 400; i++)
		edge(&m, f[rnd() % 60], rnd() % 9, f[rnd() % 60]);
	model_encode(&m);
	model_encode(&m);
	x = m.en.history.at[1];
	y = m.en.history.at[2];
	assert_int_equal(x->nnodes, y->nnodes);
	assert_memory_equal(x->contexts, y->contexts, x->nnodes * sizeof(u64));
	assert_memory_equal(x->first, y->first, (x->nnodes + 1) * sizeof(u32));
	for (i = 0; i < x->first[x->nnodes]; i++) {
		assert_int_equal(x->in[i].add, y->in[i].add);
		assert_int_equal(x->in[i].site, y->in[i].site);
		assert_int_equal(x->in[i].caller, y->in[i].caller);
	}
	model_free(&m);
}

#define LADDER 80u

/* Twice as many contexts on each rung: 2^80 for PCCE, and the rule leaves edges out above 2^63. */
static void overflow_ladder(void **state)
{
	struct dep_cc_table t;
	struct model m;
	u32 f[LADDER], i, round, left = 0;

	(void)state;
	model_init(&m);
	for (i = 0; i < LADDER; i++)
		f[i] = fn(&m, i);
	for (round = 0; round < 6; round++) {
		model_start(&m, 0, -1, f[0]);
		for (i = 1; i < LADDER; i++)
			model_call(&m, 0, round == 1 || (round > 1 && rnd() % 2), f[i],
				   DEP_CC_CALL);
		if (round == 2)
			model_encode(&m);
		for (i = 1; i < LADDER; i++)
			model_return(&m, 0);
		if (round == 1)
			model_encode(&m);
	}
	assert_int_equal(m.en.encoding.dictionary->max_id, (1ull << 63) - 1);
	assert_int_equal(contexts(&m, f[63]), 1ull << 63);
	for (i = 0; i < m.en.graph.nedges; i++)
		left += how(&m, i) == DEP_CC_LEFT_OUT;
	assert_int_equal(left, LADDER - 1 - 63);
	assert_int_equal(m.en.encoding.dictionary->made.left_out, left);
	assert_int_equal(dep_cc_table_make(&t, &m.en.graph, &m.en.history, &m.en.counts), 0);
	assert_true(t.pcce.overflow);
	assert_true(t.pcce.max_id == ((unsigned __int128)1 << (LADDER - 1)) - 1);
	assert_int_equal(t.max_id, (1ull << 63) - 1);
	assert_int_equal(t.encodings, 2);
	assert_int_equal(t.nodes, LADDER);
	/* The coldest edges are left out. */
	i = dep_cc_graph_find(&m.en.graph, f[70], 1, f[71], DEP_CC_CALL);
	assert_int_equal(how(&m, i), DEP_CC_LEFT_OUT);
	sample(&m, i, 1);
	model_encode(&m);
	assert_int_equal(add(&m, i), 0);
	model_free(&m);
}

/* The coldest edges go first, also if a colder one would fit. */
static void coldest_edges_are_left_out(void **state)
{
	struct model m;
	u32 a, b, e[3];

	(void)state;
	model_init(&m);
	a = fn(&m, 'A');
	b = fn(&m, 'B');
	edge(&m, DEP_CC_ROOT, 0, a);
	edge(&m, a, 1, b);
	edge(&m, a, 2, b);
	e[0] = edge(&m, a, 3, fn(&m, 'C'));
	e[1] = edge(&m, b, 4, fn(&m, 'C'));
	e[2] = edge(&m, a, 5, fn(&m, 'C'));
	sample(&m, e[0], 20);
	sample(&m, e[1], 10);
	m.en.limit = 2;
	model_encode(&m);
	assert_int_equal(add(&m, e[0]), 0);
	assert_int_equal(how(&m, e[1]), DEP_CC_LEFT_OUT);
	assert_int_equal(how(&m, e[2]), DEP_CC_LEFT_OUT);
	m.en.limit = 3;
	model_encode(&m);
	assert_int_equal(add(&m, e[1]), 1);
	assert_int_equal(how(&m, e[2]), DEP_CC_LEFT_OUT);
	/* Ids that no path has. */
	assert_non_null(dep_cc_dictionary_find(m.en.encoding.dictionary, fn(&m, 'C'), 2));
	assert_null(dep_cc_dictionary_find(m.en.encoding.dictionary, fn(&m, 'C'), 3));
	assert_null(dep_cc_dictionary_find(m.en.encoding.dictionary, fn(&m, 'C'), UINT64_MAX));
	assert_null(dep_cc_dictionary_find(m.en.encoding.dictionary, DEP_CC_ROOT, 0));
	assert_null(dep_cc_dictionary_find(m.en.encoding.dictionary, 99, 0));
	model_free(&m);
}

static void bad_limits(void **state)
{
	struct model m;

	(void)state;
	model_init(&m);
	assert_int_equal(dep_cc_encode(&m.en.encoding, &m.en.history, &m.en.graph, 0), -EINVAL);
	assert_int_equal(dep_cc_encode(&m.en.encoding, &m.en.history, &m.en.graph,
				       DEP_CC_CONTEXTS_MAX + 1), -EINVAL);
	assert_int_equal(m.en.history.n, 1);
	model_free(&m);
}

/* A chain of 100,000 functions: nothing recurses on the stack of the library. */
static void deep_chain(void **state)
{
	struct dep_cc_pcce p;
	struct model m;
	u32 i, n = 100000;

	(void)state;
	model_init(&m);
	m.quiet = true;
	model_start(&m, 0, -1, fn(&m, 0));
	for (i = 1; i < n; i++)
		model_call(&m, 0, i, fn(&m, i), DEP_CC_CALL);
	assert_int_equal(m.stack[0].own.state.n, n);
	model_check(&m, 0);
	model_encode(&m);
	assert_int_equal(m.stack[0].own.state.n, 0);
	assert_int_equal(m.stack[0].own.state.id, 0);
	model_check(&m, 0);
	model_check_dictionary(m.en.encoding.dictionary);
	assert_int_equal(dep_cc_pcce_make(&p, &m.en.graph), 0);
	assert_true(p.max_id == 0 && !p.overflow && !p.back);
	model_unwind(&m, 0, n / 2);
	model_check(&m, 0);
	while (m.stack[0].n > 1)
		model_return(&m, 0);
	model_check(&m, 0);
	model_free(&m);
}

/* An indirect site with 100,000 targets, all of which call one function. */
static void wide_site(void **state)
{
	struct dep_cc_table t;
	struct model m;
	u32 i, round, n = 100000, last;

	(void)state;
	model_init(&m);
	m.quiet = true;
	last = fn(&m, n + 1);
	model_start(&m, 0, -1, fn(&m, 0));
	for (round = 0; round < 2; round++) {
		for (i = 1; i <= n; i++) {
			model_call(&m, 0, 5, fn(&m, i), DEP_CC_INDIRECT);
			model_call(&m, 0, 5, last, DEP_CC_CALL);
			if (i % 1000 == 0)
				model_check(&m, 0);
			model_return(&m, 0);
			model_return(&m, 0);
		}
		assert_int_equal(m.stack[0].own.state.function, fn(&m, 0));
		model_encode(&m);
		assert_int_equal(m.en.encoding.dictionary->max_id, n - 1);
	}
	assert_int_equal(dep_cc_table_make(&t, &m.en.graph, &m.en.history, &m.en.counts), 0);
	assert_int_equal(t.indirect_sites, 1);
	assert_int_equal(t.wide_sites, 1);
	assert_int_equal(t.counts.calls, 4ull * n + 1);
	assert_int_equal(t.counts.pushes, 2ull * n + 1);
	model_free(&m);
}

/* ---- PCCE ---- */

static void pcce(void **state)
{
	struct dep_cc_pcce p;
	struct model m;
	u32 a, b, c, h, e;

	(void)state;
	model_init(&m);
	a = fn(&m, 'A');
	b = fn(&m, 'B');
	c = fn(&m, 'C');
	h = fn(&m, 'H');
	edge(&m, DEP_CC_ROOT, 0, a);
	edge(&m, a, 1, b);
	edge(&m, b, 2, c);
	e = edge(&m, c, 3, a);
	m.en.graph.edge[e].calls = 10;
	/* A has a context from the root and a dummy edge, which B and C have, too. */
	assert_int_equal(dep_cc_pcce_make(&p, &m.en.graph), 0);
	assert_int_equal(p.nodes, 4);
	assert_int_equal(p.edges, 4);
	assert_int_equal(p.back, 1);
	assert_int_equal(p.pushes, 10);
	assert_true(p.max_id == 1);
	e = dep_cc_graph_edge(&m.en.graph, DEP_CC_ROOT, 0, h, DEP_CC_HANDLER);
	m.en.graph.edge[e].calls = 5;
	/* Code that is gone stays in a static graph. */
	dep_cc_graph_retire(&m.en.graph, c);
	assert_int_equal(dep_cc_pcce_make(&p, &m.en.graph), 0);
	assert_int_equal(p.back, 1);
	assert_int_equal(p.pushes, 15);
	assert_true(p.max_id == 1);
	model_free(&m);
}

/* ---- when to encode anew ---- */

static void triggers(void **state)
{
	const struct dep_cc_policy p = DEP_CC_POLICY_DEFAULT;
	const struct dep_cc_since quiet = { .calls = 100000, .edges = 1000, .samples = 100 };
	struct dep_cc_since s;

	(void)state;
	assert_int_equal(dep_cc_policy_triggers(&p, &quiet), 0);
	/* New edges: more than 64, and more than a tenth. */
	s = quiet;
	s.new_edges = 101;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_EDGES);
	s.new_edges = 100;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	s.edges = 10;
	s.new_edges = 65;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_EDGES);
	s.new_edges = 64;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	/* The ccStack: more than one call in 1,000. */
	s = quiet;
	s.pushes = 101;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_STACK);
	s.pushes = 100;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	/* Hot edges: a fifth of the samples, and not of a few. */
	s = quiet;
	s.misplaced = 20;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_HOT);
	s.misplaced = 19;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	s.samples = s.misplaced = 31;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	/* Not too often: 4,096 calls, and 16 for each edge. */
	s = quiet;
	s.pushes = s.calls;
	s.new_edges = 2000;
	s.misplaced = 100;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_EDGES |
			 DEP_CC_TRIGGER_STACK | DEP_CC_TRIGGER_HOT);
	s.calls = 16 * 3000 - 1;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	s.calls = 4095;
	s.edges = s.new_edges = 0;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	s.calls = 4096;
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_STACK |
			 DEP_CC_TRIGGER_HOT);
}

static void call_and_return(struct model *m, u64 site, u32 callee, u32 n)
{
	while (n--) {
		model_call(m, 0, site, callee, DEP_CC_CALL);
		model_return(m, 0);
	}
}

/* An encoding is made for the reason @trigger, and for no other. */
static void encode_for(struct model *m, u32 trigger)
{
	assert_true(m->due);
	assert_int_equal(m->en.triggers, trigger);
	model_encode(m);
	assert_int_equal(m->en.encoding.dictionary->made.triggers, trigger);
	assert_int_equal(m->en.encoding.dictionary->made.calls, m->en.counts.calls);
	assert_int_equal(m->en.triggers, 0);
	assert_int_equal(m->en.since.samples, 0);
}

/* The same with calls. */
static void triggers_by_calls(void **state)
{
	struct model m;
	u32 i, b;

	(void)state;
	model_init(&m);
	m.quiet = true;
	b = fn(&m, 'B');
	model_start(&m, 0, -1, fn(&m, 'A'));
	call_and_return(&m, 1, b, 4095);
	encode_for(&m, DEP_CC_TRIGGER_STACK);
	call_and_return(&m, 1, b, 200000);
	assert_false(m.due);
	for (i = 0; i < 128 && !m.due; i++)
		call_and_return(&m, 2, fn(&m, 1000 + i), 1);
	assert_true(i >= 65);
	encode_for(&m, DEP_CC_TRIGGER_EDGES);
	/* One call in 500 is by a new edge. */
	for (i = 0; i < 100 && !m.due; i++) {
		call_and_return(&m, 1, b, 499);
		call_and_return(&m, 3, b, 1);
	}
	encode_for(&m, DEP_CC_TRIGGER_STACK);
	call_and_return(&m, 1, b, 10000);
	assert_false(m.due);
	/* The other edge becomes the hotter one. */
	for (i = 0; i < 1000000 && !m.due; i++)
		call_and_return(&m, 3, b, 1);
	encode_for(&m, DEP_CC_TRIGGER_HOT);
	i = dep_cc_graph_find(&m.en.graph, fn(&m, 'A'), 3, b, DEP_CC_CALL);
	assert_int_equal(add(&m, i), 0);
	call_and_return(&m, 3, b, 100000);
	assert_false(m.due);
	model_free(&m);
}

/* Calls by back edges push at each call, but no encoding would change that. */
static void recursion_triggers_nothing(void **state)
{
	struct dep_cc_policy p = DEP_CC_POLICY_DEFAULT;
	struct dep_cc_since s = { .edges = 2, .samples = 100 };
	struct dep_cc_counts before;
	struct model m;
	u32 f, i;

	(void)state;
	model_init(&m);
	m.quiet = true;
	f = fn(&m, 1);
	model_start(&m, 0, -1, f);
	model_call(&m, 0, 1, f, DEP_CC_CALL);
	model_encode(&m);
	before = m.en.counts;
	for (i = 0; i < 5000; i++)
		model_call(&m, 0, 1, f, DEP_CC_CALL);
	s.calls = m.en.counts.calls - before.calls;
	s.pushes = m.en.counts.fresh - before.fresh;
	assert_int_equal(s.calls, 5000);
	assert_int_equal(s.pushes, 0);
	assert_int_equal(m.en.counts.recursive - before.recursive, 5000);
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	model_call(&m, 0, 2, f, DEP_CC_CALL);
	assert_int_equal(m.en.counts.fresh - before.fresh, 1);
	model_free(&m);
}

/* Samples of an edge that became the hottest one fire HOT, until it adds 0. */
static void hot_edges_change(void **state)
{
	struct dep_cc_policy p = DEP_CC_POLICY_DEFAULT;
	struct dep_cc_since s = { .calls = 10000 };
	struct model m;
	u32 a, b, e1, e2, i;

	(void)state;
	model_init(&m);
	a = fn(&m, 'A');
	b = fn(&m, 'B');
	edge(&m, DEP_CC_ROOT, 0, a);
	e1 = edge(&m, a, 1, b);
	e2 = edge(&m, a, 2, b);
	sample(&m, e1, 10);
	model_encode(&m);
	assert_int_equal(add(&m, e2), 1);
	for (i = 0; i < 5; i++)		/* as hot as the other, not more */
		dep_cc_policy_sample(&s, &m.en.graph, &m.en.encoding, e2);
	assert_int_equal(s.misplaced, 0);
	for (i = 0; i < 95; i++)
		dep_cc_policy_sample(&s, &m.en.graph, &m.en.encoding, e2);
	assert_int_equal(s.samples, 100);
	assert_int_equal(s.misplaced, 95);
	assert_int_equal(dep_cc_policy_triggers(&p, &s), DEP_CC_TRIGGER_HOT);
	model_encode(&m);
	assert_int_equal(add(&m, e2), 0);
	s = (struct dep_cc_since){ .calls = 10000 };
	for (i = 0; i < 100; i++)
		dep_cc_policy_sample(&s, &m.en.graph, &m.en.encoding, e2);
	assert_int_equal(s.misplaced, 0);
	assert_int_equal(dep_cc_policy_triggers(&p, &s), 0);
	model_free(&m);
}

/* ---- dictionaries ---- */

/* A library is unmapped and loaded again: other functions, and old records still decode. */
static void code_that_is_gone(void **state)
{
	struct model m;
	struct model_record old, older;
	u32 main_fn, lib, lib2, e;

	(void)state;
	model_init(&m);
	main_fn = fn(&m, 1);
	lib = dep_cc_graph_node(&m.en.graph, 100, 0);
	model_start(&m, 0, -1, main_fn);
	model_call(&m, 0, 1, lib, DEP_CC_INDIRECT);
	model_record(&m, 0, false, &older);
	e = m.stack[0].frame[1].edge;
	model_encode(&m);
	model_record(&m, 0, true, &old);
	assert_int_equal(how(&m, e), DEP_CC_ENCODED);
	dep_cc_graph_retire(&m.en.graph, lib);
	/* The activation is still at work. */
	model_encode(&m);
	assert_int_equal(how(&m, e), DEP_CC_NEVER);
	assert_int_equal(m.en.encoding.dictionary->made.nodes, 2);
	assert_int_equal(m.en.encoding.dictionary->made.edges, 1);
	model_return(&m, 0);
	lib2 = dep_cc_graph_node(&m.en.graph, 100, 1);
	assert_int_not_equal(lib2, lib);
	model_call(&m, 0, 1, lib2, DEP_CC_INDIRECT);
	model_encode(&m);
	model_check_record(&m, &old);
	model_check_record(&m, &older);
	dep_cc_history_drop(&m.en.history, 1);
	dep_cc_history_drop(&m.en.history, 99);
	assert_int_equal(dep_cc_decode_origins(&m.en.history, &old.record, &m.chain), -ENOENT);
	model_check_record(&m, &older);
	model_record_free(&old);
	model_record_free(&older);
	model_free(&m);
}

/* What each dictionary says of the graph makes the curves of figure 9. */
static void progress(void **state)
{
	const struct dep_cc_made *made;
	struct model m;
	u32 i;

	(void)state;
	model_init(&m);
	model_start(&m, 0, -1, fn(&m, 0));
	for (i = 1; i <= 5; i++) {
		model_call(&m, 0, i, fn(&m, i), DEP_CC_CALL);
		model_encode(&m);
	}
	for (i = 0; i <= 5; i++) {
		made = &m.en.history.at[i]->made;
		assert_int_equal(m.en.history.at[i]->stamp, i);
		assert_int_equal(made->edges, i ? i + 1 : 0);
		assert_int_equal(made->encoded, i ? i + 1 : 0);
		assert_int_equal(made->nodes, i ? i + 2 : 1);
	}
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identities),
		cmocka_unit_test(figure_1),
		cmocka_unit_test(back_edges),
		cmocka_unit_test(same_graph_same_encoding),
		cmocka_unit_test(overflow_ladder),
		cmocka_unit_test(coldest_edges_are_left_out),
		cmocka_unit_test(bad_limits),
		cmocka_unit_test(deep_chain),
		cmocka_unit_test(wide_site),
		cmocka_unit_test(pcce),
		cmocka_unit_test(triggers),
		cmocka_unit_test(triggers_by_calls),
		cmocka_unit_test(recursion_triggers_nothing),
		cmocka_unit_test(hot_edges_change),
		cmocka_unit_test(code_that_is_gone),
		cmocka_unit_test(progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
