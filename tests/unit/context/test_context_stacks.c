// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that are cut by longjmp, signal handlers, coroutines, forks and threads. */
#include "context_steps.h"

static void long_jumps(void **state)
{
	struct model m;
	u32 round, n;

	(void)state;
	for (n = 0; n < 9; n++) {
		begin(&m, 'A');
		for (round = 0; round < 3; round++) {
			call(&m, 1, 'B');
			call(&m, 2, 'C');
			call(&m, 3, 'A');
			indirect(&m, 1, 'B');
			tail(&m, 4, 'D');
			tail(&m, 5, 'E');
			call(&m, 6, 'C');
			call(&m, 3, 'A');
			/* Not to D: it ended by its tail call. */
			if (n == 8 || m.stack[0].frame[n + 1].kind != DEP_CC_TAIL)
				model_unwind(&m, 0, n);
			call(&m, 7, 'F');
			back(&m, 1);
			while (m.stack[0].n > 1)
				back(&m, 1);
			assert_int_equal(m.stack[0].own.state.nsaved, 0);
			model_encode(&m);
		}
		model_free(&m);
	}
}

/* ---- handlers ---- */

static void handlers(void **state)
{
	static const u64 slots[] = { 0, 1ull << 20, 1ull << 60 };
	struct model m;
	u32 i, round;

	(void)state;
	for (i = 0; i < 3; i++) {
		begin(&m, 'A');
		for (round = 0; round < 2; round++) {
			indirect(&m, 1, 'B');
			model_handler(&m, 0, 77, fn(&m, 'H'), slots[i]);
			call(&m, 8, 'B');
			indirect(&m, 8, 'C');
			/* A handler interrupts a handler. */
			model_handler(&m, 0, 78, fn(&m, 'H'), 0);
			call(&m, 8, 'B');
			assert_int_equal(m.stack[0].own.state.handlers, 2);
			back(&m, 1);
			back(&m, 1);		/* sigreturn */
			assert_int_equal(m.stack[0].own.state.function, fn(&m, 'C'));
			if (round)
				model_encode(&m);
			back(&m, 3);
			assert_int_equal(m.stack[0].own.state.handlers, 0);
			assert_int_equal(m.stack[0].own.state.function, fn(&m, 'B'));
			call(&m, 2, 'C');
			back(&m, 2);
			model_encode(&m);
		}
		/* siglongjmp out of two handlers, to A. */
		indirect(&m, 1, 'B');
		model_handler(&m, 0, 77, fn(&m, 'H'), slots[i]);
		indirect(&m, 8, 'B');
		model_handler(&m, 0, 78, fn(&m, 'H'), 0);
		call(&m, 8, 'B');
		model_unwind(&m, 0, 2);
		assert_int_equal(m.stack[0].own.state.handlers, 1);
		indirect(&m, 8, 'B');
		model_unwind(&m, 0, 0);
		assert_int_equal(m.stack[0].own.state.handlers, 0);
		assert_int_equal(m.stack[0].own.state.nsaved, 0);
		model_free(&m);
	}
}

/* Each handler is left by siglongjmp: nothing stays behind. */
static void handlers_left_for_ever(void **state)
{
	struct model m;
	u32 i;

	(void)state;
	begin(&m, 'A');
	for (i = 0; i < 100000; i++) {
		m.quiet = i % 1000 != 0;
		indirect(&m, 1, 'B');
		model_handler(&m, 0, 77, fn(&m, 'H'), i % 2 ? 1ull << 60 : 0);
		indirect(&m, 8, 'C');
		model_unwind(&m, 0, 0);
		if (i == 10)
			model_encode(&m);
	}
	assert_true(m.stack[0].own.state.room <= 16 && m.stack[0].own.state.saved_room <= 16);
	model_free(&m);
}

/* ---- threads ---- */

/* Two coroutines are two states, and each goes on where it was. */
static void coroutines(void **state)
{
	struct model m;
	u32 i;

	(void)state;
	begin(&m, 'A');
	model_start(&m, 1, 0, fn(&m, 'A'));
	for (i = 0; i < 30; i++) {
		model_call(&m, i % 2, 1 + i % 3, fn(&m, 'B' + i % 3), DEP_CC_CALL);
		if (i % 7 == 0)
			model_encode(&m);
	}
	for (i = 0; i < 15; i++) {
		model_return(&m, 0);
		model_check(&m, 1);
	}
	model_free(&m);
}

static void forks(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 'A');
	call(&m, 1, 'B');
	indirect(&m, 2, 'C');
	model_encode(&m);
	model_fork(&m, 1, 0);
	call(&m, 3, 'A');
	model_return(&m, 1);
	model_return(&m, 1);
	model_check(&m, 0);
	model_end(&m, 0);
	model_encode(&m);
	model_check(&m, 1);
	model_free(&m);
}

/* Each thread creates the next one and ends: the contexts of all creators remain. */
static void threads_that_create_threads(void **state)
{
	u32 i, n = 100000, f;
	struct model_record r;
	struct dep_cc_state s[2];
	struct model m;

	(void)state;
	model_init(&m);
	f = fn(&m, 'A');
	model_start(&m, 0, -1, f);
	for (i = 0; i < 5; i++) {
		model_start(&m, (i + 1) % 2, (int)(i % 2), f);
		model_call(&m, (i + 1) % 2, 1, fn(&m, 'B' + i), DEP_CC_CALL);
		if (i == 3)
			model_encode(&m);
	}
	model_record(&m, 1, true, &r);
	assert_int_equal(r.n, 11);
	model_check_record(&m, &r);
	dep_cc_history_drop(&m.en.history, 0);
	assert_int_equal(dep_cc_decode_origins(&m.en.history, &r.record, &m.chain), -ENOENT);
	model_record_free(&r);

	assert_int_equal(dep_cc_state_init(s, &m.en.encoding, &m.en.counts, NULL), 0);
	for (i = 1; i < n; i++) {
		assert_int_equal(dep_cc_state_call(s + (i - 1) % 2, &m.en.graph, 0, 100), 0);
		assert_int_equal(dep_cc_state_init(s + i % 2, &m.en.encoding, &m.en.counts,
						   s + (i - 1) % 2), 0);
		dep_cc_state_free(s + (i - 1) % 2);
	}
	assert_int_equal(dep_cc_state_record(s + (n - 1) % 2, true, &r.record), 0);
	assert_int_equal(dep_cc_decode_origins(&m.en.history, &r.record, &m.chain), 0);
	assert_int_equal(m.chain.n, n - 1);
	dep_cc_record_free(&r.record);
	dep_cc_state_free(s + (n - 1) % 2);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_jumps),
		cmocka_unit_test(handlers),
		cmocka_unit_test(handlers_left_for_ever),
		cmocka_unit_test(coroutines),
		cmocka_unit_test(forks),
		cmocka_unit_test(threads_that_create_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
