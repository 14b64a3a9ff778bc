// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random call graphs and random walks: every state decodes to the true stack.
 *
 * ADEPT_TEST_SEED repeats a run, ADEPT_TEST_COUNT sets the number of graphs, LONG=1 in the
 * environment makes long walks.
 */
#include <time.h>

#include "context_model.h"

static bool is_long(void)
{
	return from_env("LONG", 0) == 1;
}

static int seed(void **state)
{
	u64 s = from_env("ADEPT_TEST_SEED", (u64)time(NULL));

	(void)state;
	print_message("seed %llu\n", (unsigned long long)s);
	rnd_state = s;
	return 0;
}

/* ---- random walks ---- */

#define FUNCTIONS	40u
#define SITES		4u
#define RECORDS		64u

/* A site of a program: @targets functions from @first on. */
struct site {
	u8 kind;
	u32 first, targets;
};

/**
 * struct program - a random program
 * @encode: one step in so many encodes anew; 0: the policy decides
 */
struct program {
	struct model m;
	struct site site[FUNCTIONS][SITES];
	u32 functions, generation[FUNCTIONS];
	u32 tails;		/* percent of sites */
	u32 encode;
	size_t depth;
	struct model_record record[RECORDS];
	bool all_kinds;		/* also stacks that are cut, handlers, and threads */
};

static u32 node_of(struct program *p, u32 f)
{
	u32 n = dep_cc_graph_node(&p->m.en.graph, f, p->generation[f]);

	assert_int_not_equal(n, DEP_CC_NONE);
	return n;
}

static void make_program(struct program *p)
{
	struct site *s;
	u32 f, k;

	model_init(&p->m);
	p->functions = 2 + (u32)(rnd() % (FUNCTIONS - 1));
	p->tails = (u32)(rnd() % 3) * 30;
	p->depth = 1 + rnd() % 60;
	p->m.en.policy = (struct dep_cc_policy){
		.calls = 20, .calls_per_edge = 1, .edges = 5, .edges_percent = 10,
		.pushes_per_million = 20000, .hot_percent = 20, .samples = 8,
	};
	p->m.en.sample = 3;
	for (f = 0; f < p->functions; f++)
		for (k = 0; k < SITES; k++) {
			s = p->site[f] + k;
			s->kind = rnd() % 100 < p->tails ? DEP_CC_TAIL :
				  rnd() % 3 ? DEP_CC_CALL : DEP_CC_INDIRECT;
			s->first = (u32)(rnd() % p->functions);
			s->targets = s->kind == DEP_CC_CALL ? 1 : 1 + (u32)(rnd() % 6);
		}
}

static void maybe_encode(struct program *p)
{
	if (p->encode ? !(rnd() % p->encode) : p->m.due)
		model_encode(&p->m);
}

static void call(struct program *p, u32 stack)
{
	u32 at = model_at_work(&p->m, stack), from = (u32)p->m.en.graph.node[at].key;
	u32 k = (u32)(rnd() % SITES), to;
	const struct site *site = p->site[from] + k;
	u64 pc = 0x1000ull * from + 8 * k;

	to = node_of(p, (site->first + (u32)(rnd() % site->targets)) % p->functions);
	if (site->kind == DEP_CC_TAIL)
		model_tail(&p->m, stack, pc, to);
	else if (rnd() % 50)
		model_call(&p->m, stack, pc, to, site->kind);
	else
		model_enter(&p->m, stack, pc, to);
}

static void unwind(struct program *p, u32 stack)
{
	struct model_stack *s = p->m.stack + stack;
	size_t n = rnd() % s->n;

	while (n + 1 < s->n && s->frame[n + 1].kind == DEP_CC_TAIL)
		n++;
	model_unwind(&p->m, stack, n);
}

/* The handler runs on the same stack, or on one above or below all others. */
static void handler(struct program *p, u32 stack)
{
	u32 to = node_of(p, (u32)(rnd() % p->functions));
	u64 slot = rnd() % 2 ? 0 : rnd() % 2 ? (1ull << 50) + (rnd() % 1000 << 20) :
		   (1ull << 30) + (rnd() % 1000 << 20);

	model_handler(&p->m, stack, 0x9000 + rnd() % 100, to, slot);
}

static void threads(struct program *p, u32 stack)
{
	u32 other = (u32)(rnd() % MODEL_STACKS);

	if (other == stack)
		return;
	if (rnd() % 2)
		model_fork(&p->m, other, stack);
	else
		model_start(&p->m, other, rnd() % 4 ? (int)stack : -1,
			    node_of(p, (u32)(rnd() % p->functions)));
}

/* The code of a function is replaced, even while it runs. */
static void replace(struct program *p)
{
	u32 f = (u32)(rnd() % p->functions);

	dep_cc_graph_retire(&p->m.en.graph, node_of(p, f));
	p->generation[f]++;
}

static void keep_record(struct program *p, u32 stack)
{
	struct model_record *r = p->record + rnd() % RECORDS;

	model_record_free(r);
	model_record(&p->m, stack, rnd() % 2, r);
}

static void step(struct program *p)
{
	u32 stack = (u32)(rnd() % MODEL_STACKS), what = (u32)(rnd() % 100);
	struct model_stack *s = p->m.stack + stack;

	if (!s->used || !s->n) {
		model_start(&p->m, stack, -1, node_of(p, (u32)(rnd() % p->functions)));
		return;
	}
	if (what < 60 && s->n < p->depth)
		call(p, stack);
	else if (what < 90 || !p->all_kinds)
		model_return(&p->m, stack);
	else if (what < 93)
		unwind(p, stack);
	else if (what < 96)
		handler(p, stack);
	else if (what < 98)
		threads(p, stack);
	else if (what < 99)
		keep_record(p, stack);
	else if (!(rnd() % 4))
		replace(p);
}

static void walk(u64 steps, u32 encode_every, bool all_kinds, u64 limit)
{
	struct program *p = calloc(1, sizeof(*p));
	u64 i;

	assert_non_null(p);
	make_program(p);
	p->encode = encode_every;
	p->all_kinds = all_kinds;
	p->m.en.limit = limit;
	for (i = 0; i < steps; i++) {
		step(p);
		maybe_encode(p);
	}
	/* Records of all time stamps decode by their dictionaries. */
	for (i = 0; i < RECORDS; i++) {
		if (p->record[i].frame)
			model_check_record(&p->m, p->record + i);
		model_record_free(p->record + i);
	}
	model_free(&p->m);
	free(p);
}

static void graphs(u64 count, u64 steps, u32 encode_every, bool all_kinds, u64 limit)
{
	u64 i, n = from_env("ADEPT_TEST_COUNT", is_long() ? 20 * count : count);

	for (i = 0; i < n; i++)
		walk(steps, encode_every, all_kinds, limit);
}

static void calls_and_returns(void **state)
{
	(void)state;
	graphs(100, 2000, 0, false, DEP_CC_CONTEXTS_MAX);
}

static void encoded_by_the_policy(void **state)
{
	(void)state;
	graphs(200, 2000, 0, true, DEP_CC_CONTEXTS_MAX);
}

static void encoded_at_each_step(void **state)
{
	(void)state;
	graphs(40, 1000, 1, true, DEP_CC_CONTEXTS_MAX);
}

static void encoded_now_and_then(void **state)
{
	(void)state;
	graphs(100, 2000, 30, true, DEP_CC_CONTEXTS_MAX);
}

/* Few contexts fit, so the overflow rule leaves edges out everywhere. */
static void with_overflow(void **state)
{
	u64 limit;

	(void)state;
	for (limit = 1; limit <= 64; limit *= 4)
		graphs(20, 1000, 20, true, limit);
}

/* ---- rings and recursion ---- */

#define RING	5u

/* @ring functions tail-call each other; now and then a new encoding. */
static void tail_ring(u32 ring, u64 steps, u64 encode_every)
{
	static struct model m;
	u32 f[RING], i, main_fn;
	struct model_stack *s = m.stack;
	u64 k;

	model_init(&m);
	m.quiet = true;
	main_fn = model_function(&m, 100);
	for (i = 0; i < ring; i++)
		f[i] = model_function(&m, i);
	model_start(&m, 0, -1, main_fn);
	model_call(&m, 0, 1, f[0], DEP_CC_CALL);
	for (k = 1; k <= steps; k++) {
		model_tail(&m, 0, 10 + k % 2, f[k % ring]);
		assert_true(s->own.state.n <= ring + 2);
		if (k % encode_every == 0)
			model_encode(&m);
		if (k % 9973 == 0)
			model_check(&m, 0);
	}
	model_check(&m, 0);
	/* Memory is bounded: no more entries than functions. */
	assert_true(s->own.state.room <= 16 && s->own.state.saved_room <= 16);
	assert_true(m.en.graph.nedges <= 2 * ring + 2);
	model_return(&m, 0);
	assert_int_equal(s->own.state.function, main_fn);
	model_check(&m, 0);
	model_free(&m);
}

static void tail_call_rings(void **state)
{
	u64 steps = is_long() ? 100000000 : 1000000;

	(void)state;
	tail_ring(1, steps / 10, 40000);
	tail_ring(2, steps / 10, 40000);
	tail_ring(3, steps, steps / 20);
	tail_ring(RING, steps / 10, 100);
}

/* An interpreter: each function tail-calls any other. */
static void tail_call_interpreter(void **state)
{
	static struct model m;
	u32 f[20], i, main_fn;
	u64 k, steps = is_long() ? 10000000 : 200000;

	(void)state;
	model_init(&m);
	m.quiet = true;
	main_fn = model_function(&m, 100);
	for (i = 0; i < 20; i++)
		f[i] = model_function(&m, i);
	model_start(&m, 0, -1, main_fn);
	model_call(&m, 0, 1, f[0], DEP_CC_INDIRECT);
	for (k = 0; k < steps; k++) {
		model_tail(&m, 0, 10, f[rnd() % 20]);
		assert_true(m.stack[0].own.state.n < 45);
		if (k % 10007 == 0)
			model_encode(&m);
		if (k % 101 == 0)
			model_check(&m, 0);
	}
	model_return(&m, 0);
	assert_int_equal(m.stack[0].own.state.function, main_fn);
	model_check(&m, 0);
	model_free(&m);
}

/*
 * @cycle functions call each other, @depth deep, with a new encoding halfway up and down.  Once the
 * cycle is encoded, its calls by the back edge are equal, and a record has them as one entry.
 */
static void recursion(u32 cycle, u32 depth)
{
	static struct model m;
	struct model_record r;
	u32 f[RING], i, round;

	model_init(&m);
	m.quiet = true;
	for (i = 0; i < cycle; i++)
		f[i] = model_function(&m, i + 1);
	for (round = 0; round < 3; round++) {
		model_start(&m, 0, -1, f[0]);
		for (i = 1; i < depth; i++) {
			model_call(&m, 0, 10, f[i % cycle], DEP_CC_CALL);
			if (i == depth / 2 && round < 2)
				model_encode(&m);
		}
		model_check(&m, 0);
		if (round) {
			model_record(&m, 0, true, &r);
			/* The first call of the cycle has an id without a flag. */
			assert_int_equal(r.record.n, 2);
			assert_int_equal(r.record.entry[0].count, 1);
			assert_int_equal(r.record.entry[1].count, (depth - 1) / cycle - 1);
			assert_int_equal(m.stack[0].own.state.n, (depth - 1) / cycle);
			model_record_free(&r);
		}
		for (i = 1; i < depth; i++) {
			model_return(&m, 0);
			if (i == depth / 3 && round < 2)
				model_encode(&m);
		}
		model_check(&m, 0);
	}
	model_free(&m);
}

static void recursion_of_cycles(void **state)
{
	u32 cycle;

	(void)state;
	for (cycle = 1; cycle <= RING; cycle++)
		recursion(cycle, 1000);
	recursion(2, is_long() ? 10000000 : 1000000);
}

/* Ackermann's function, with its two recursive sites. */
static u32 ackermann(struct model *m, u32 f, u32 a, u32 b, u64 *calls)
{
	u32 r;

	if (++*calls % 97 == 0) {
		model_check(m, 0);
		if (*calls % 3 == 0)
			model_encode(m);
	}
	if (!a)
		return b + 1;
	if (!b) {
		model_call(m, 0, 20, f, DEP_CC_CALL);
		r = ackermann(m, f, a - 1, 1, calls);
		model_return(m, 0);
		return r;
	}
	model_call(m, 0, 30, f, DEP_CC_CALL);
	r = ackermann(m, f, a, b - 1, calls);
	model_return(m, 0);
	model_call(m, 0, 40, f, DEP_CC_CALL);
	r = ackermann(m, f, a - 1, r, calls);
	model_return(m, 0);
	return r;
}

static void recursion_ackermann(void **state)
{
	static struct model m;
	u64 calls = 0;
	u32 f;

	(void)state;
	model_init(&m);
	m.quiet = true;
	f = model_function(&m, 1);
	model_start(&m, 0, -1, f);
	assert_int_equal(ackermann(&m, f, 2, 20, &calls), 43);
	model_check(&m, 0);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_returns),
		cmocka_unit_test(encoded_by_the_policy),
		cmocka_unit_test(encoded_at_each_step),
		cmocka_unit_test(encoded_now_and_then),
		cmocka_unit_test(with_overflow),
		cmocka_unit_test(tail_call_rings),
		cmocka_unit_test(tail_call_interpreter),
		cmocka_unit_test(recursion_of_cycles),
		cmocka_unit_test(recursion_ackermann),
	};

	return cmocka_run_group_tests(tests, seed, NULL);
}
