// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contexts while they change: the examples of the paper, tail calls, stacks that are cut, handlers,
 * threads, and forged records.
 */
#include "context_model.h"

static u32 fn(struct model *m, u64 f)
{
	return model_function(m, f);
}

static void call(struct model *m, u64 site, char f)
{
	model_call(m, 0, site, fn(m, (u64)f), DEP_CC_CALL);
}

static void indirect(struct model *m, u64 site, char f)
{
	model_call(m, 0, site, fn(m, (u64)f), DEP_CC_INDIRECT);
}

static void tail(struct model *m, u64 site, char f)
{
	model_tail(m, 0, site, fn(m, (u64)f));
}

static void back(struct model *m, u32 n)
{
	while (n--)
		model_return(m, 0);
}

static void begin(struct model *m, char f)
{
	model_init(m);
	model_start(m, 0, -1, fn(m, (u64)f));
}

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
	assert_int_equal(m.en.counts.depth - m.en.counts.compressed > 99,
			 true);
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

/* ---- stacks that are cut ---- */

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
			if (m.stack[0].frame[n + 1].kind != DEP_CC_TAIL || n == 8)
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

/* ---- errors ---- */

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
		cmocka_unit_test(figure_2_normal_calls),
		cmocka_unit_test(two_new_edges_in_a_path),
		cmocka_unit_test(figure_3_indirect_calls),
		cmocka_unit_test(figure_5_recursive_calls),
		cmocka_unit_test(site_with_two_targets),
		cmocka_unit_test(figure_7_tail_calls),
		cmocka_unit_test(tail_call_of_a_tail_call),
		cmocka_unit_test(loops_are_erased),
		cmocka_unit_test(tail_call_of_itself),
		cmocka_unit_test(long_jumps),
		cmocka_unit_test(encoded_call_becomes_recursive),
		cmocka_unit_test(handlers),
		cmocka_unit_test(handlers_left_for_ever),
		cmocka_unit_test(coroutines),
		cmocka_unit_test(forks),
		cmocka_unit_test(threads_that_create_threads),
		cmocka_unit_test(wrong_calls),
		cmocka_unit_test(forged_records),
		cmocka_unit_test(forged_counts),
		cmocka_unit_test(forged_dictionaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
