// SPDX-License-Identifier: GPL-2.0-or-later
/* Wrong calls, and forged records and dictionaries. */
#include "context_steps.h"

static void wrong_calls(void **state)
{
	struct dep_cc_state *s;
	struct model m;
	u32 edge, other;

	(void)state;
	begin(&m, 'A');
	s = &m.stack[0].own.state;
	call(&m, 1, 'B');
	edge = m.stack[0].frame[1].edge;
	assert_int_equal(dep_cc_state_call(s, &m.en.graph, edge, 8), -EINVAL);
	assert_int_equal(dep_cc_state_call(s, &m.en.graph, 99, 8), -EINVAL);
	assert_int_equal(dep_cc_state_tail(s, &m.en.graph, edge, 8), -EINVAL);
	other = dep_cc_graph_edge(&m.en.graph, fn(&m, 'B'), 5, fn(&m, 'C'), DEP_CC_TAIL);
	assert_int_equal(dep_cc_state_call(s, &m.en.graph, other, 8), -EINVAL);
	assert_int_equal(dep_cc_state_enter(s, 1, 1, DEP_CC_HANDLER, 8), -EINVAL);
	assert_int_equal(dep_cc_state_enter(s, 1, DEP_CC_ROOT, DEP_CC_CALL, 8), -EINVAL);
	assert_int_equal(dep_cc_state_enter(s, 1, 1, DEP_CC_START, 8), -EINVAL);
	assert_int_equal(dep_cc_state_sigreturn(s), -EINVAL);
	/* No activation has this slot. */
	assert_int_equal(dep_cc_state_return(s, &m.en.graph, edge, 8), -EINVAL);
	assert_int_equal(dep_cc_state_return(s, &m.en.graph, DEP_CC_NONE, 8), -EINVAL);
	assert_int_equal(dep_cc_state_unwind(s, fn(&m, 'C'), 8, 0), -ENOENT);
	assert_int_equal(dep_cc_state_unwind(s, fn(&m, 'A'), 8, 0), -ENOENT);
	assert_int_equal(dep_cc_state_unwind(s, fn(&m, 'A'), 8, 1), -EINVAL);
	model_check(&m, 0);
	s->max = s->n;
	assert_int_equal(dep_cc_state_enter(s, 1, 1, DEP_CC_CALL, 8), -E2BIG);
	assert_int_equal(dep_cc_state_handler(s, 1, 1), -E2BIG);
	assert_int_equal(dep_cc_state_tail(s, &m.en.graph, other, m.stack[0].frame[1].slot),
			 -E2BIG);
	model_check(&m, 0);
	s->max = 100;
	/* A handler ends otherwise. */
	model_handler(&m, 0, 1, fn(&m, 'B'), 0);
	assert_int_equal(dep_cc_state_return(s, &m.en.graph, DEP_CC_NONE, 0), -EINVAL);
	back(&m, 1);
	/* Below the root nothing returns. */
	back(&m, 2);
	assert_int_equal(s->function, DEP_CC_ROOT);
	assert_int_equal(dep_cc_state_return(s, &m.en.graph, DEP_CC_NONE, ~0ull), -EINVAL);
	assert_int_equal(dep_cc_state_enter(s, 1, 1, DEP_CC_CALL, 8), -EINVAL);
	model_free(&m);
}

/* A record with entries of all kinds, and a dictionary that has all kinds of edges. */
static void mixed(struct model *m)
{
	u32 i;

	begin(m, 'A');
	for (i = 0; i < 2; i++) {
		call(m, 1, 'B');
		indirect(m, 2, 'C');
		call(m, 2, 'B');
		tail(m, 3, 'D');
		model_handler(m, 0, 77, fn(m, 'H'), 0);
		call(m, 4, 'A');
		call(m, 1, 'B');
		call(m, 9, 'A');
		call(m, 1, 'B');
		call(m, 9, 'A');
		call(m, 1, 'B');
		call(m, 9, 'A');
		if (!i) {
			back(m, 10);
			model_encode(m);
		}
	}
	call(m, 50, 'Z');
}

/* Whatever a record has, the decoder ends, and says so if the record does not fit. */
static void forged_records(void **state)
{
	struct model_record r;
	struct dep_cc_record forged;
	struct dep_cc_entry *e;
	u32 i, k, bad = 0, fits = 0, n = (u32)from_env("ADEPT_TEST_COUNT", 200000);
	struct model m;
	u64 value;
	int err;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 3);
	mixed(&m);
	model_record(&m, 0, true, &r);
	model_check_record(&m, &r);
	m.chain.max = 1000;
	e = calloc(r.record.n, sizeof(*e));
	assert_non_null(e);
	for (i = 0; i < n; i++) {
		forged = r.record;
		forged.entry = memcpy(e, r.record.entry, r.record.n * sizeof(*e));
		for (k = 0; k <= rnd() % 3; k++) {
			value = rnd() % 4 ? rnd() % 12 : rnd() >> rnd() % 64;
			switch (rnd() % 8) {
			case 0: forged.id = value; break;
			case 1: forged.function = (u32)value; break;
			case 2: forged.n = rnd() % (r.record.n + 1); break;
			case 3: e[rnd() % r.record.n].id = value; break;
			case 4: e[rnd() % r.record.n].target = (u32)value; break;
			case 5: e[rnd() % r.record.n].caller = (u32)value; break;
			case 6: e[rnd() % r.record.n].kind = (u8)value; break;
			case 7: e[rnd() % r.record.n].count = (u32)value; break;
			}
		}
		err = dep_cc_decode_origins(&m.en.history, &forged, &m.chain);
		assert_true(!err || err == -EBADMSG || err == -E2BIG);
		assert_true(m.chain.n <= 1000);
		bad += err == -EBADMSG;
		fits += !err;
	}
	assert_true(bad > n / 4 && fits > n / 100);
	forged = r.record;
	forged.stamp++;
	assert_int_equal(dep_cc_decode_origins(&m.en.history, &forged, &m.chain), -ENOENT);
	assert_int_equal(dep_cc_decode(m.en.encoding.dictionary, &forged, &m.chain), -EBADMSG);
	/* A count for ever: no more than the limit. */
	forged = r.record;
	forged.entry = memcpy(e, r.record.entry, r.record.n * sizeof(*e));
	for (i = 0; i < forged.n; i++)
		if (e[i].count > 1)
			e[i].count = UINT32_MAX;
	assert_int_not_equal(memcmp(e, r.record.entry, r.record.n * sizeof(*e)), 0);
	assert_int_equal(dep_cc_decode_origins(&m.en.history, &forged, &m.chain), -E2BIG);
	free(e);
	model_record_free(&r);
	model_free(&m);
}

/* A limit below the number of frames that a chain has memory for. */
static void lowered_limit(void **state)
{
	struct model_record r;
	struct model m;

	(void)state;
	begin(&m, 'A');
	call(&m, 1, 'B');
	call(&m, 2, 'C');
	model_record(&m, 0, true, &r);
	model_check_record(&m, &r);
	m.chain.max = 2;
	assert_int_equal(dep_cc_decode_origins(&m.en.history, &r.record, &m.chain), -E2BIG);
	assert_int_equal(m.chain.n, 2);
	m.chain.max = 3;
	model_check_record(&m, &r);
	model_record_free(&r);
	model_free(&m);
}

/* Only calls are repeated, and each entry is there at least once. */
static void forged_counts(void **state)
{
	static const int expected[3][3] = {
		{ -EBADMSG, 0, 0 }, { -EBADMSG, 0, 0 }, { -EBADMSG, 0, -EBADMSG },
	};
	struct dep_cc_entry e[2] = { 0 };
	struct dep_cc_record r = { .entry = e, .n = 2 };
	struct model m;
	u32 kind, count;

	(void)state;
	begin(&m, 'A');
	model_encode(&m);
	r.stamp = m.en.encoding.dictionary->stamp;
	r.id = m.en.encoding.dictionary->max_id + 1;
	r.function = 99;
	e[0] = (struct dep_cc_entry){ .caller = fn(&m, 'A'), .target = 99, .count = 1 };
	e[1] = (struct dep_cc_entry){ .id = r.id, .caller = 99, .target = 99 };
	for (kind = DEP_CC_CALL; kind <= DEP_CC_TAIL; kind++)
		for (count = 0; count < 3; count++) {
			e[1].kind = (u8)kind;
			e[1].count = count;
			assert_int_equal(dep_cc_decode_origins(&m.en.history, &r, &m.chain),
					 expected[kind][count]);
		}
	model_free(&m);
}

/* A dictionary whose edges have a cycle, or nonsense. */
static void forged_dictionaries(void **state)
{
	struct dep_cc_in in[] = {
		{ .add = 0, .caller = 2 }, { .add = 0, .caller = 1 },
	};
	u64 contexts[] = { 1, 1, 1 };
	u32 first[] = { 0, 0, 1, 2 };
	struct dep_cc_dictionary d = {
		.nnodes = 3, .contexts = contexts, .first = first, .in = in,
	};
	struct dep_cc_chain c = { .max = 1000 };
	struct dep_cc_record r = { .function = 1 };

	(void)state;
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	assert_true(c.n <= 4);
	r.id = 1;
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	r.id = UINT64_MAX;
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	r.id = 0;
	r.function = 3;
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	/* A caller that does not exist, and a kind. */
	r.function = 1;
	in[0] = (struct dep_cc_in){ .caller = 1u << 31, .kind = DEP_CC_CALL };
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	in[0] = (struct dep_cc_in){ .caller = 0, .kind = DEP_CC_KINDS };
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	/* The root tail-calls a function. */
	in[0] = (struct dep_cc_in){ .caller = 0, .kind = DEP_CC_TAIL };
	r.function = 1;
	assert_int_equal(dep_cc_decode(&d, &r, &c), -EBADMSG);
	in[0].kind = DEP_CC_START;
	assert_int_equal(dep_cc_decode(&d, &r, &c), 0);
	assert_int_equal(c.n, 1);
	dep_cc_chain_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_calls),
		cmocka_unit_test(forged_records),
		cmocka_unit_test(lowered_limit),
		cmocka_unit_test(forged_counts),
		cmocka_unit_test(forged_dictionaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
