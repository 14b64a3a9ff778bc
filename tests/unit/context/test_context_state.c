// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids and entries of the ccStack: the paper's examples, and tail calls. */
#include "context_steps.h"

static u64 id(const struct model *m)
{
	return m->stack[0].own.state.id;
}

/* The entry @n is <@id, @caller, @target>. */
static void entry(struct model *m, u32 n, u64 id, char caller, char target)
{
	const struct dep_cc_state *s = &m->stack[0].own.state;

	assert_true(n < s->n);
	assert_int_equal(s->entry[n].id, id);
	assert_int_equal(s->entry[n].caller, fn(m, (u64)caller));
	assert_int_equal(s->entry[n].target, fn(m, (u64)target));
}

static void entries(const struct model *m, size_t n)
{
	assert_int_equal(m->stack[0].own.state.n, n);
}

/* Figure 2: AC and CD are encoded, AD is new. */
static void figure_2(struct model *m)
{
	begin(m, 'A');
	call(m, 1, 'C');
	call(m, 2, 'D');
	model_encode(m);
	assert_int_equal(m->en.encoding.dictionary->max_id, 0);
	assert_int_equal(id(m), 0);
	entries(m, 0);
	back(m, 2);
}

static void figure_2_normal_calls(void **state)
{
	struct model m;

	(void)state;
	figure_2(&m);
	call(&m, 3, 'D');
	assert_int_equal(id(&m), 1);
	entries(&m, 1);
	entry(&m, 0, 0, 'A', 'D');
	back(&m, 1);
	assert_int_equal(id(&m), 0);
	entries(&m, 0);
	model_free(&m);
}

/* Section 3.1: the path ABCD with new edges AB and CD. */
static void two_new_edges_in_a_path(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 'B');
	call(&m, 2, 'C');
	model_start(&m, 0, -1, fn(&m, 'A'));
	model_encode(&m);
	call(&m, 1, 'B');
	call(&m, 2, 'C');
	call(&m, 3, 'D');
	entries(&m, 2);
	entry(&m, 0, 0, 'A', 'B');
	entry(&m, 1, m.en.encoding.dictionary->max_id + 1, 'C', 'D');
	assert_int_equal(id(&m), m.en.encoding.dictionary->max_id + 1);
	model_free(&m);
}

/* Figure 3: maxID is 4, EI adds 2, and C calls E by a new indirect edge. */
static void figure_3_indirect_calls(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 'A');
	call(&m, 1, 'B');
	call(&m, 2, 'D');
	call(&m, 3, 'I');
	back(&m, 1);
	call(&m, 4, 'E');
	call(&m, 5, 'I');
	back(&m, 3);
	call(&m, 6, 'E');
	back(&m, 2);
	call(&m, 7, 'C');
	call(&m, 8, 'D');
	back(&m, 2);
	model_encode(&m);
	assert_int_equal(m.en.encoding.dictionary->max_id, 4);
	call(&m, 7, 'C');
	indirect(&m, 9, 'E');
	assert_int_equal(id(&m), 5);
	call(&m, 5, 'I');
	assert_int_equal(id(&m), 7);
	entries(&m, 1);
	entry(&m, 0, 0, 'C', 'E');
	back(&m, 2);
	/* Once it is encoded, its target decides what it adds, so the id is saved. */
	model_encode(&m);
	indirect(&m, 9, 'E');
	entries(&m, 0);
	assert_int_equal(m.stack[0].own.state.nsaved, 1);
	back(&m, 1);
	indirect(&m, 9, 'D');
	entries(&m, 1);
	model_encode(&m);
	entries(&m, 0);
	assert_int_equal(m.stack[0].own.state.nsaved, 1);
	back(&m, 2);
	assert_int_equal(m.stack[0].own.state.nsaved, 0);
	model_free(&m);
}

/* Figure 5: the context ADACDAD. */
static void figure_5_recursive_calls(void **state)
{
	struct model_record r;
	struct model m;
	u32 i;

	(void)state;
	figure_2(&m);
	call(&m, 3, 'D');
	call(&m, 4, 'A');
	call(&m, 1, 'C');
	call(&m, 2, 'D');
	call(&m, 4, 'A');
	call(&m, 3, 'D');
	assert_int_equal(id(&m), 1);
	entries(&m, 4);
	entry(&m, 0, 0, 'A', 'D');
	entry(&m, 1, 1, 'D', 'A');
	entry(&m, 2, 1, 'D', 'A');
	entry(&m, 3, 1, 'A', 'D');
	/* Equal neighbours are one entry of a record. */
	model_record(&m, 0, true, &r);
	assert_int_equal(r.record.n, 3);
	assert_int_equal(r.record.entry[1].count, 2);
	model_check_record(&m, &r);
	/* Now DA is a back edge, and AD is encoded. */
	model_encode(&m);
	entries(&m, 2);
	for (i = 0; i < 100; i++) {
		call(&m, 4, 'A');
		call(&m, 3, 'D');
	}
	entries(&m, 102);
	assert_true(m.en.counts.depth - m.en.counts.compressed > 99);
	model_check_record(&m, &r);
	model_record_free(&r);
	model_record(&m, 0, true, &r);
	assert_int_equal(r.record.n, 3);
	assert_int_equal(r.record.entry[2].count, 100);
	model_record_free(&r);
	back(&m, 206);
	entries(&m, 0);
	model_free(&m);
}

/* A direct site with two targets, as that of a PLT: its return cannot know what to subtract. */
static void site_with_two_targets(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 'A');
	call(&m, 1, 'B');
	model_encode(&m);
	assert_int_equal(m.stack[0].own.state.nsaved, 0);
	back(&m, 1);
	call(&m, 1, 'C');
	model_encode(&m);
	assert_int_equal(m.stack[0].own.state.nsaved, 1);
	back(&m, 1);
	call(&m, 1, 'B');
	assert_int_equal(m.stack[0].own.state.nsaved, 1);
	model_free(&m);
}

/* An encoded call becomes a back edge while it is at work: the entry that it lacks is made. */
static void encoded_call_becomes_recursive(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 'A');
	call(&m, 1, 'B');
	back(&m, 1);
	call(&m, 2, 'D');
	call(&m, 4, 'C');
	model_encode(&m);
	entries(&m, 0);
	/* By way of B, the search reaches D from C before it sees DC. */
	back(&m, 2);
	call(&m, 1, 'B');
	call(&m, 5, 'C');
	call(&m, 6, 'D');
	call(&m, 4, 'C');
	model_encode(&m);
	assert_int_equal(m.en.encoding.dictionary->made.back, 1);
	entries(&m, 1);
	entry(&m, 0, 1, 'D', 'C');
	assert_int_equal(m.stack[0].own.state.entry[0].rsp, m.stack[0].frame[4].slot);
	back(&m, 4);
	entries(&m, 0);
	model_free(&m);
}

/* ---- tail calls ---- */

/* Figure 7: CD is a tail call, and ABDF follows ACDF. */
static void figure_7_tail_calls(void **state)
{
	struct model m;
	u32 round;

	(void)state;
	begin(&m, 'A');
	for (round = 0; round < 3; round++) {
		call(&m, 2, 'B');
		call(&m, 4, 'D');
		call(&m, 5, 'F');
		assert_int_equal(round ? id(&m) : 0, 0);
		back(&m, 3);
		call(&m, 1, 'C');
		assert_int_equal(m.stack[0].own.state.nsaved, round ? 1 : 0);
		tail(&m, 3, 'D');
		call(&m, 5, 'F');
		assert_int_equal(id(&m), 1);
		assert_int_equal(m.stack[0].own.state.n, round ? 0 : 3 + 1);
		back(&m, 2);
		/* D returned to A, which has the id of before. */
		assert_int_equal(m.stack[0].own.state.function, fn(&m, 'A'));
		assert_int_equal(round ? id(&m) : 0, 0);
		if (!round)
			model_encode(&m);
	}
	model_free(&m);
}

/* A site saves if a tail edge below it adds something, however far below. */
static void tail_call_of_a_tail_call(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 'A');
	call(&m, 1, 'E');
	back(&m, 1);
	call(&m, 2, 'B');
	tail(&m, 3, 'C');
	tail(&m, 4, 'D');
	tail(&m, 5, 'E');
	model_encode(&m);
	/* The id is saved for the activation at work, which was called before. */
	assert_int_equal(m.stack[0].own.state.nsaved, 1);
	back(&m, 1);
	assert_int_equal(id(&m), 0);
	call(&m, 2, 'B');
	tail(&m, 3, 'C');
	tail(&m, 4, 'D');
	assert_int_equal(id(&m), 0);
	tail(&m, 5, 'E');
	assert_int_equal(id(&m), 1);
	back(&m, 1);
	assert_int_equal(id(&m), 0);
	assert_int_equal(m.stack[0].own.state.nsaved, 0);
	model_free(&m);
}

/* The example in chain.h; each step may be with or without a new encoding. */
static void loops_are_erased(void **state)
{
	static const char steps[] = "ghfgkgkkfhg";
	struct model m;
	u32 bits, i;

	(void)state;
	for (bits = 0; bits < 1u << (sizeof(steps) - 1); bits++) {
		begin(&m, 'm');
		call(&m, 1, 'f');
		for (i = 0; steps[i]; i++) {
			tail(&m, 2, steps[i]);
			if (bits >> i & 1)
				model_encode(&m);
		}
		assert_int_equal(m.stack[0].n, 4);	/* m f h g */
		back(&m, 1);
		assert_int_equal(m.stack[0].own.state.function, fn(&m, 'm'));
		model_free(&m);
	}
}

static void tail_call_of_itself(void **state)
{
	struct model m;
	u32 i;

	(void)state;
	begin(&m, 'm');
	call(&m, 1, 'f');
	for (i = 0; i < 10; i++) {
		tail(&m, 2, 'f');
		entries(&m, i < 5 ? 2 : 0);
		if (i == 4)
			model_encode(&m);
	}
	assert_int_equal(m.en.counts.loops, 10);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_2_normal_calls),
		cmocka_unit_test(two_new_edges_in_a_path),
		cmocka_unit_test(figure_3_indirect_calls),
		cmocka_unit_test(figure_5_recursive_calls),
		cmocka_unit_test(site_with_two_targets),
		cmocka_unit_test(encoded_call_becomes_recursive),
		cmocka_unit_test(figure_7_tail_calls),
		cmocka_unit_test(tail_call_of_a_tail_call),
		cmocka_unit_test(loops_are_erased),
		cmocka_unit_test(tail_call_of_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
